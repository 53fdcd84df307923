/**
 * Replaces secrets in what leaves a process and is not a regular result: errors, log lines, audit records. The text is cleaned
 * first: an unseen character within a secret would hide it from the scrubber, and errors repeat what callers sent.
 *
 *   known-shapes.ts     what secrets look like
 *   secret-settings.ts  the operator's patterns, and the values of secret environment variables
 */
import { cleanText, isClean } from '@harness/contracts';
import type { RE2JS } from 're2js';
import { contextPattern, formatPattern, secretName } from './known-shapes.ts';

/** What stands in place of a secret. */
export const scrubbed = '[secret]';

/** Cleans text (see `cleanText`), then replaces secrets by `[secret]`. */
export interface Scrubber {
  text(text: string): string;
  /**
   * Scrubs all strings and keys of a JSON value, and strings under names like `password` whatever they are. Returns the
   * same object if nothing changes.
   */
  json<T>(value: T): T;
  /** Scrubs one JSON object in serialized form, such as a log line; the result is JSON. */
  line(line: string): string;
}

/** What a scrubber knows besides the known shapes. */
export interface Secrets {
  /** Patterns of further secrets; each match is replaced as a whole. */
  patterns?: readonly RE2JS[];
  /** Secrets themselves. */
  values?: readonly string[];
}

/** Shorter values are not replaced: they occur in ordinary text. */
const minValueLength = 8;

/** Creates a scrubber for the known shapes of secrets and for those given. */
export function createScrubber({ patterns = [], values = [] }: Secrets = {}): Scrubber {
  const known = [...new Set(values)]
    .filter((value) => value.length >= minValueLength)
    .sort((one, other) => other.length - one.length)
    .map(RegExp.escape);
  const formats = new RegExp([...known, formatPattern].join('|'), 'g');
  const contexts = new RegExp(contextPattern, 'gi');
  const spelt = values.filter(({ length }) => length >= minValueLength).map(jsonSpelling);
  const inLine = [...spelt.map(RegExp.escape), formatPattern].join('|');
  const [formatInLine, contextInLine] = [new RegExp(inLine), new RegExp(contextPattern, 'i')];

  const text = (given: string): string => {
    const found = cleanText(given)
      .replace(contexts, (_match, ...groups) => `${keptOf(groups)}${scrubbed}`)
      .replace(formats, scrubbed);
    return patterns.reduce(
      (rest, pattern) => (pattern.test(rest) ? pattern.matcher(rest).replaceAll(scrubbed) : rest),
      found,
    );
  };
  const json = (value: unknown, isSecret = false): unknown => {
    if (typeof value === 'string') return isSecret && value !== '' ? scrubbed : text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => json(item));
      return items.some((item, i) => item !== value[i]) ? items : value;
    }
    let isChanged = false;
    const fields = Object.entries(value).map(([name, inner]): [string, unknown] => {
      const field: [string, unknown] = [text(name), json(inner, isSecretName.test(name))];
      isChanged ||= field[0] !== name || field[1] !== inner;
      return field;
    });
    return isChanged ? Object.fromEntries(fields) : value;
  };

  return {
    text,
    json: (value) => json(value) as typeof value,
    line(given) {
      // Most lines have nothing to replace and are not parsed. The operator's patterns match the strings themselves,
      // not their serialized form.
      const isSafe = isClean(given) && !uncleanInLine.test(given);
      if (isSafe && patterns.length === 0 && !formatInLine.test(given) && !contextInLine.test(given))
        return given;
      return `${JSON.stringify(json(JSON.parse(given)))}${given.endsWith('\n') ? '\n' : ''}`;
    },
  };
}

/** Control characters as JSON spells them. */
const uncleanInLine = /\\(?:u00[01]|[bf])/;

const isSecretName = new RegExp(`^(?:${secretName})$`, 'i');

/** The group that matched; the last two arguments of a replacer are the offset and the whole text. */
const keptOf = (groups: unknown[]) => groups.slice(0, -2).find((group) => group !== undefined);

const jsonSpelling = (text: string) => JSON.stringify(text).slice(1, -1);
