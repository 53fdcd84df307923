/**
 * Runs `pattern` and `patternProperties` on RE2, whose time is linear in the text. V8's engine can be exponential:
 * `^(a+)+$` takes twice as long with every further character. The dialect stays that of JSON Schema (ECMA-262, flag u):
 * syntax that the two engines read differently is translated, and what RE2 cannot express is refused.
 */
import { RE2JS } from 're2js';
import { textOf } from '../text-of.ts';

/** A compiled pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Upper bound of the cost of a match, in states × characters. */
  costOf(text: string): number;
}

/** Compiles a pattern. Throws an Error with the reason if it is invalid or cannot be matched in linear time. */
export function createLinearPattern(source: string): LinearPattern {
  try {
    // Checks the syntax that clients will use; RE2 does the matching.
    new RegExp(source, 'u');
    const compiled = RE2JS.compile(RE2JS.translateRegExp(toRe2(source)));
    const states = compiled.programSize();
    return {
      test: (text) => compiled.test(text),
      costOf: (text) => (text.length + 1) * states,
    };
  } catch (thrown) {
    throw new Error(`pattern ${JSON.stringify(source)} is refused: ${textOf(thrown)}`);
  }
}

/** ECMA-262's `\s`, `\S` and line ends. In RE2 `\s` and `\S` cover ASCII only, and `.` excludes only `\n`. */
const space =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
const notSpace =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';
const lineEnds = '\\n\\r\\x{2028}\\x{2029}';

/** One token of a pattern: an escape, the start of a look-around, or a character. */
const token = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?:[pP]\{[^}]*\}|.)|\(\?<?[=!]|./gsu;

function toRe2(source: string): string {
  let inClass = false;
  return source.replace(token, (part) => {
    if (inClass) {
      if (part === ']') inClass = false;
      // `[[:alpha:]` is a list of characters in ECMA-262, but a class of letters in RE2.
      if (part === '[') return '\\[';
      if (part === '\\s') return space;
      if (part === '\\S') return notSpace;
      return escapeOf(part);
    }
    if (part.startsWith('(?')) throw new Error('look-around cannot be matched in linear time');
    if (/^\\[1-9k]/.test(part)) throw new Error('back-references cannot be matched in linear time');
    if (part === '[') inClass = true;
    if (part === '\\s') return `[${space}]`;
    if (part === '\\S') return `[${notSpace}]`;
    if (part === '.') return `[^${lineEnds}]`;
    return escapeOf(part);
  });
}

/** Translates an escape: RE2 writes `\p{Script=Greek}` as `\p{Greek}`, `\p{Letter}` as `\p{L}`, and a surrogate pair as one. */
function escapeOf(part: string): string {
  const [, kind, name = ''] = /^\\([pP])\{(?:[A-Za-z_]+=)?([^}]*)\}$/.exec(part) ?? [];
  if (kind) return `\\${kind}{${shortNames[name] ?? name}}`;
  const [, high, low] = /^\\u(d...)\\u(....)$/i.exec(part) ?? [];
  if (!high || !low) return part;
  const character = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
  return `\\x{${character.codePointAt(0)?.toString(16)}}`;
}

const shortNames: Readonly<Record<string, string>> = {
  Letter: 'L',
  Uppercase_Letter: 'Lu',
  Lowercase_Letter: 'Ll',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  Punctuation: 'P',
  Symbol: 'S',
  Separator: 'Z',
};
