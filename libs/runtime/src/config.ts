import { type ParseArgsConfig, parseArgs } from 'node:util';
import { z } from 'zod';

/** A positive whole number from the environment; underscores and units are not read. */
export const envInteger = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max));

/** A comma-separated list; blanks around and empty entries are dropped. */
export const envList = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean),
);

/**
 * Reads a service's configuration. "" counts as unset; every problem is reported at once, each naming its variable;
 * the result is frozen.
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
  throw new ConfigError(`The environment does not fit:\n${problems.join('\n')}`);
}

/** The options of a command line. Throws ConfigError, with `usage`, for one that is unknown or lacks its value, and for stray words. */
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

/** What a person did wrong at start: printed as it is, without a stack. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}
