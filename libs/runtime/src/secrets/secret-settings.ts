import { RE2JS } from 're2js';
import { z } from 'zod';
import { createScrubber, type Scrubber } from './scrubber.ts';

/**
 * Schema of HARNESS_SECRET_PATTERNS: regular expressions in RE2 syntax, which takes time linear in the text, separated by
 * line ends or by commas outside of brackets. A pattern that matches the empty text is refused.
 */
export const envSecretPatterns = {
  HARNESS_SECRET_PATTERNS: z
    .string()
    .transform((text, context) =>
      sourcesOf(text).flatMap((source) => {
        try {
          const pattern = RE2JS.compile(RE2JS.translateRegExp(source));
          if (!pattern.test('')) return [pattern];
          context.addIssue({ code: 'custom', message: `${JSON.stringify(source)} matches the empty text` });
        } catch (error) {
          context.addIssue({
            code: 'custom',
            message: `${JSON.stringify(source)}: ${(error as Error).message}`,
          });
        }
        return [];
      }),
    )
    .default([]),
};

const minSecretLength = 16;

/**
 * Schema of HARNESS_TOKEN_SECRET: one secret, or two while they are rotated. The first one signs, both verify; [] = unset.
 */
export const envTokenSecrets = z
  .string()
  .transform((text) => text.split(',').map((secret) => secret.trim()))
  .pipe(
    z
      .array(z.string().min(minSecretLength, `each secret must have at least ${minSecretLength} characters`))
      .max(2, 'must be one secret, or two separated by a comma'),
  )
  .default([]);

/** Splits a list of patterns. The commas of `{8,}`, `[,;]` and `(a,b)` belong to a pattern, and so does `\,`. */
function sourcesOf(text: string): string[] {
  const sources = [''];
  let depth = 0;
  for (const [token] of text.matchAll(/\\.|./gs)) {
    if (/[([{]/.test(token) && token.length === 1) depth++;
    if (/[)\]}]/.test(token) && token.length === 1) depth--;
    if (token === '\n' || (token === ',' && depth <= 0)) {
      sources.push('');
      depth = 0;
    } else sources.push(`${sources.pop()}${token}`);
  }
  return sources.map((source) => source.trim()).filter(Boolean);
}

type Env = Readonly<Record<string, string | undefined>>;

/** Names of variables that hold a secret: HARNESS_API_KEY, ANTHROPIC_AUTH_TOKEN, AWS_SECRET_ACCESS_KEY, … */
const secretVariable = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE)(?:_BEDROCK)?$/;

/** The secrets in an environment: values of variables with such names, and the passwords of REDIS_URL. */
export function secretValuesOf(env: Env): string[] {
  const named = Object.entries(env).flatMap(([name, value]) =>
    value && secretVariable.test(name) ? [value, ...value.split(',')] : [],
  );
  const url = env.REDIS_URL ?? '';
  const passwords = [/:\/\/[^@/]*?:([^/]*)@/.exec(url)?.[1], /[?&]sentinelPassword=([^&]*)/.exec(url)?.[1]];
  return [...named, ...passwords.flatMap((password) => (password ? [password, decoded(password)] : []))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The scrubber of a service: known shapes, the operator's patterns, the secrets of its environment. */
export const scrubberOf = (
  { HARNESS_SECRET_PATTERNS: patterns }: { HARNESS_SECRET_PATTERNS: readonly RE2JS[] },
  env: Env,
): Scrubber => createScrubber({ patterns, values: secretValuesOf(env) });
