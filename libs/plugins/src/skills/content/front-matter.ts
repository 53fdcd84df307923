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

/**
 * Parses the YAML between the first two lines of `---`, which must be at the beginning of the text. Texts that people write
 * without quotes, although YAML requires them (`description: Use it: now`), are read as they are meant.
 */
export function parseFrontMatter(text: string): FrontMatter | Problem {
  const found = fence.exec(text);
  if (found?.index !== 0)
    return { line: 1, message: 'it must begin with YAML front matter between two lines of ---' };
  const yaml = withHintQuoted(found[1] ?? '');
  const strict = dataIn(yaml);
  const data = 'message' in strict ? dataIn(withTextsQuoted(yaml)) : strict;
  // The problem of the text as it is written, not of the attempt to repair it.
  if ('message' in data) return strict as Problem;
  return { data: data.data, body: text.slice(found[0].length) };
}

function dataIn(yaml: string): { data: Record<string, unknown> } | Problem {
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, uniqueKeys: true });
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
  return { data: data as Record<string, unknown> };
}

/** Fields whose value is a text, whatever characters it has. */
const textLine = /^(description|name|when_to_use|argument[-_]hint):[ \t]+(?!["'|>[{&*])(.*)$/gm;

/** Quotes texts. */
const withTextsQuoted = (yaml: string): string =>
  yaml.replace(
    textLine,
    (_line, field: string, value: string) => `${field}: ${JSON.stringify(value.trim())}`,
  );

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
  /** What was repaired. */
  notes: Problem[];
}

/** Repairs fields before they are checked: see `lenient`. */
export type Repair = (
  data: Record<string, unknown>,
  body: string,
) => { data: Record<string, unknown>; notes: { field: string; message: string }[] };

/** Parses and validates the front matter; returns every problem. */
export function fieldsOf<T>(text: string, schema: z.ZodType<T>, repair: Repair): Fields<T> | Problem[] {
  const frontMatter = parseFrontMatter(text);
  if ('message' in frontMatter) return [frontMatter];
  return checked(text, { frontMatter, schema, repair });
}

/** Like `fieldsOf`, for a text that may have no front matter: then all of it is the body. */
export function fieldsOfAny<T>(text: string, schema: z.ZodType<T>, repair: Repair): Fields<T> | Problem[] {
  const hasFields = /^\ufeff?---[ \t]*\r?$/m.exec(text)?.index === 0;
  if (hasFields) return fieldsOf(text, schema, repair);
  return checked(text, { frontMatter: { data: {}, body: text }, schema, repair });
}

function checked<T>(
  text: string,
  { frontMatter, schema, repair }: { frontMatter: FrontMatter; schema: z.ZodType<T>; repair: Repair },
): Fields<T> | Problem[] {
  const { data, notes } = repair(saidIn(frontMatter.data), frontMatter.body);
  const problemOf = (field: string, message: string) => ({
    line: lineOf(text, field),
    message: `${field}: ${message}`,
  });
  const parsed = schema.safeParse(data);
  if (parsed.success) {
    const noted = notes.map(({ field, message }) => problemOf(field, message));
    return { fields: parsed.data, frontMatter, notes: noted };
  }
  return parsed.error.issues.map(({ path, message }) => problemOf(String(path[0] ?? ''), message));
}

/** Removes empty fields: `model:` without a value counts as absent. */
const saidIn = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));

/** The line of a field of the front matter, in either spelling; 1 if it is absent. */
export function lineOf(text: string, field: string): number {
  const [front = ''] = fence.exec(text) ?? [];
  const at = front.split('\n').findIndex((line) => line.replaceAll('_', '-').startsWith(`${field}:`));
  return at < 0 ? 1 : at + 1;
}
