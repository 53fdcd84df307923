/**
 * Removes the secrets of one upstream from every text about it that leaves in errors and logs: its own errors, which repeat what it was
 * sent, those of the network, and what a child writes to standard error.
 *
 *   upstream-secrets.ts  the secrets in its entry
 *   spellings.ts         the forms in which texts repeat them
 */
import { AppError, cleanText } from '@harness/contracts';
import { createScrubber, scrubbed } from '@harness/runtime';
import type { UpstreamConfig } from '../file/upstream-config.ts';
import { spellingsOf } from './spellings.ts';
import { secretsOf } from './upstream-secrets.ts';

/** Replaces the secrets of one upstream, and what looks like a secret, by `[secret]`. */
export interface UpstreamScrubber {
  /** In all strings and keys of a JSON value. */
  json<T>(value: T): T;
  /** An error with clean message and details, and without its cause, which has the text that was cleaned. */
  error(error: unknown): unknown;
  /** Knows another secret from now on, such as an access token. */
  learn(secret: string): void;
}

/** Shorter values are in ordinary text, characters. */
const minLength = 6;
/** Secrets that are learned; the oldest are forgotten, since tokens expire. */
const maxLearned = 20;
/** Longer texts are cut, characters: no error is read beyond, and scrubbing takes time. */
const maxText = 1024 * 1024;

/** Creates the scrubber of an upstream. */
export function createUpstreamScrubber(config: UpstreamConfig): UpstreamScrubber {
  const written = secretsOf(config);
  const learned: string[] = [];
  const shapes = createScrubber();
  let known = patternOf(written);
  const text = (given: string): string => {
    const clean = cleanText(given.slice(0, maxText));
    return known ? clean.replace(known, scrubbed) : clean;
  };
  const json = <T>(value: T): T => shapes.json(mapTexts(value, text) as T);
  return {
    json,
    error(error) {
      if (!(error instanceof AppError)) return error;
      const { code, message, details, retryAfterMs } = error;
      return new AppError(code, json(message), {
        details: json(details),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
    },
    learn(secret) {
      if (learned.includes(secret)) return;
      learned.push(secret);
      learned.splice(0, learned.length - maxLearned);
      known = patternOf([...written, ...learned]);
    },
  };
}

/** Matches every spelling, the longest first: one may be a part of another. */
function patternOf(secrets: readonly string[]): RegExp | undefined {
  const spellings = secrets
    .filter(({ length }) => length >= minLength)
    .flatMap(spellingsOf)
    .filter(({ length }) => length >= minLength)
    .sort((one, other) => other.length - one.length);
  return spellings.length === 0
    ? undefined
    : new RegExp([...new Set(spellings)].map(RegExp.escape).join('|'), 'g');
}

function mapTexts(value: unknown, text: (given: string) => string): unknown {
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, text));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [text(name), mapTexts(one, text)]));
}
