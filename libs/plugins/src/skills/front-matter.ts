/** Parses YAML front matter. */
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';

/** The parts of a text. */
export interface FrontMatter {
  /** The fields as written. */
  data: Record<string, unknown>;
  /** The text after the front matter. */
  body: string;
}

/** A problem and its line, from 1. */
export interface Problem {
  line: number;
  message: string;
}

/** Some editors write a byte order mark first. */
const fence = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m;

/** Parses the YAML between the first two lines of `---`, which must be at the beginning of the text. */
export function parseFrontMatter(text: string): FrontMatter | Problem {
  const found = fence.exec(text);
  if (found?.index !== 0)
    return { line: 1, message: 'it must begin with YAML front matter between two lines of ---' };
  const lines = new LineCounter();
  const document = parseDocument(withHintQuoted(found[1] ?? ''), { lineCounter: lines, uniqueKeys: true });
  const [error] = document.errors;
  if (error) {
    return {
      line: lines.linePos(error.pos[0]).line + 1,
      message: `bad YAML: ${error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '')}`,
    };
  }
  let data: unknown;
  try {
    // YAML aliases can make a small text huge, or circular; the conversion to JSON refuses both.
    data = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 10 })));
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return { line: 2, message: `bad YAML: ${message.split('\n')[0]}` };
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { line: 2, message: 'the front matter must be a map of names to values' };
  return { data: data as Record<string, unknown>, body: text.slice(found[0].length) };
}

/** Quotes hints such as `[file] [format]`, which are meant as text but are not valid YAML. */
const withHintQuoted = (yaml: string): string =>
  yaml.replace(
    /^(argument[-_]hint):[ \t]+(\[.*\])[ \t]*$/m,
    (_line, name, hint) => `${name}: ${JSON.stringify(hint)}`,
  );

/** Valid front matter. */
export interface Fields<T> {
  fields: T;
  frontMatter: FrontMatter;
}

/** Parses and validates the front matter; returns every problem. `named` renames fields to their names in the schema. */
export function fieldsOf<T>(
  text: string,
  schema: z.ZodType<T>,
  named: (data: Record<string, unknown>) => Record<string, unknown> = (data) => data,
): Fields<T> | Problem[] {
  const frontMatter = parseFrontMatter(text);
  if ('message' in frontMatter) return [frontMatter];
  const parsed = schema.safeParse(named(saidIn(frontMatter.data)));
  if (parsed.success) return { fields: parsed.data, frontMatter };
  return parsed.error.issues.map(({ path, message }) => {
    const field = String(path[0] ?? '');
    return { line: lineOf(text, field), message: `${field}: ${message}` };
  });
}

/** Removes empty fields: `model:` without a value counts as absent. */
const saidIn = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));

/** The line of a field, in either spelling; 1 if it is absent. */
export function lineOf(text: string, field: string): number {
  const at = text.split('\n').findIndex((line) => line.replaceAll('_', '-').startsWith(`${field}:`));
  return at < 0 ? 1 : at + 1;
}
