/**
 * Preloaded into gateways and workers by the test of the checker: it removes the fences from dispatch's scripts, and the
 * gateway's check that a session still owns its thread. Only the checker can detect that.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { readFileSync } = fs;
fs.readFileSync = (path, ...rest) => {
  const text = readFileSync(path, ...rest);
  if (typeof text !== 'string') return text;
  if (String(path).endsWith('/owner.lua'))
    return changed(text, /return owner == A\.me .* end/, 'return true end');
  if (String(path).endsWith('/authority.lua'))
    return changed(text, /^ *if .* return answer\('stale'\) end$/m, '');
  return text;
};
syncBuiltinESMExports();

function changed(text, from, to) {
  if (!from.test(text)) throw new Error(`There is no ${from} to take out.`);
  return text.replace(from, to);
}
