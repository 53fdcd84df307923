/**
 * Preloaded into gateways and workers by the test of the checker: dispatch's scripts lose their fences, and the gateway
 * asks no more whether a session still speaks for its thread. Nothing but the checker stands between this and a pass.
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
    return changed(text, /^ *if .* return \{ outcome = 'stale' \} end$/m, '');
  return text;
};
syncBuiltinESMExports();

function changed(text, from, to) {
  if (!from.test(text)) throw new Error(`There is no ${from} to take out.`);
  return text.replace(from, to);
}
