import { type ParseArgsConfig, parseArgs } from 'node:util';
import { z } from 'zod';

/** A whole number from `min` to `max` in an environment variable; underscores and units are not accepted. */
export const envInteger = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max));

/** A comma-separated list; spaces around entries and empty entries are dropped. */
export const envList = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean),
);

/** A list whose entries match the pattern; `problem` says what they must be. */
export const envListOf = (pattern: RegExp, problem: string) =>
  envList.refine((entries) => entries.every((entry) => pattern.test(entry)), problem);

/**
 * Whether the text is an http(s) origin without a path: the well-known paths of RFC 9728 start at the root.
 */
export const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
};

/**
 * Reads a service's configuration. "" counts as unset; the result is frozen. Throws one ConfigError that
 * names every variable with a problem.
 */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
): Readonly<z.output<Schema>> {
  const set = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(set);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`These environment variables are missing or invalid:\n${problems.join('\n')}`);
}

/**
 * Parses the options of a command line. Throws ConfigError, with `usage`, for an unknown option, a missing
 * value, and positional arguments.
 */
export function parseOptions<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
) {
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}\n\n${usage}`);
  }
}

/** A mistake in configuration or usage: printed without a stack. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}
