import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';

export interface FrontMatter {
  /** As written. */
  data: Record<string, unknown>;
  /** What follows it. */
  body: string;
}

/** A problem and the line where it shows, from 1. */
export interface Problem {
  line: number;
  message: string;
}

/** Some editors put a byte order mark before it. */
const fence = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m;

/** The YAML between the first two lines of `---`, which must be the beginning of the text. */
export function parseFrontMatter(text: string): FrontMatter | Problem {
  const found = fence.exec(text);
  if (found?.index !== 0)
    return { line: 1, message: 'it must begin with YAML front matter between lines of ---' };
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
    // Aliases can make a small text huge, or refer to themselves: what comes out is plain JSON.
    data = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 10 })));
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return { line: 2, message: `bad YAML: ${message.split('\n')[0]}` };
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { line: 2, message: 'the front matter must be a map of names to values' };
  return { data: data as Record<string, unknown>, body: text.slice(found[0].length) };
}

/** Hints are written `[file] [format]`, which is no YAML: people mean the text. */
const withHintQuoted = (yaml: string): string =>
  yaml.replace(
    /^(argument[-_]hint):[ \t]+(\[.*\])[ \t]*$/m,
    (_line, name, hint) => `${name}: ${JSON.stringify(hint)}`,
  );

/** Front matter that was found to be as it should. */
export interface Fields<T> {
  fields: T;
  frontMatter: FrontMatter;
}

/** What a text says of itself, or every problem with that. `named` gives a field its name in the schema. */
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

/** The fields that say something: `model:` with nothing behind it is as good as absent. */
const saidIn = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));

/** The line of a field, in either spelling, for a problem with its value. */
export function lineOf(text: string, field: string): number {
  const at = text.split('\n').findIndex((line) => line.replaceAll('_', '-').startsWith(`${field}:`));
  return at < 0 ? 1 : at + 1;
}
