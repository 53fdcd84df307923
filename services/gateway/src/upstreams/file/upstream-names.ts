/** Names of upstreams and of what they offer, as this gateway shows them. */

const maxPluginName = 48;
const maxToolName = 64;

/**
 * The plugin name of an upstream: lower case, every other character `-`, a letter first; at most 48 characters, so that long tool
 * names still fit behind it. Undefined when nothing is left.
 */
export function pluginNameOf(written: string): string | undefined {
  const plain = written
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '-')
    .replace(/__+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '');
  if (plain === '') return undefined;
  return (/^[a-z]/.test(plain) ? plain : `mcp-${plain}`).slice(0, maxPluginName).replace(/[-_]+$/, '');
}

/** The name of an upstream's tool or prompt behind `<plugin>__`: every other character becomes `_`; at most 64 characters. */
export const partNameOf = (written: string): string =>
  written.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxToolName);

/** Whether a name is chosen by patterns with `*`; `!` excludes. Without a pattern that includes, all are included. */
export function isChosen(name: string, patterns: readonly string[] | undefined): boolean {
  if (!patterns) return true;
  const excluding = patterns.filter((one) => one.startsWith('!')).map((one) => one.slice(1));
  const including = patterns.filter((one) => !one.startsWith('!'));
  const matchesAny = (some: readonly string[]) => some.some((pattern) => matches(name, pattern));
  return !matchesAny(excluding) && (including.length === 0 || matchesAny(including));
}

/** `*` = any text. Linear: each part is found once, from left to right. */
function matches(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  const last = rest.pop() as string;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
