import { AppError } from '@harness/contracts';

/** What Redis says while it cannot do what is asked, though another time it could. */
const passing: Record<string, string> = {
  OOM: 'Redis is full and takes no writes',
  MISCONF: 'Redis cannot write to its disk and takes no writes',
  READONLY: 'Redis is a replica at this moment and takes no writes',
  NOREPLICAS: 'Redis has too few replicas and takes no writes',
  LOADING: 'Redis is reading its data',
  BUSY: 'Redis is busy with a script',
  MASTERDOWN: 'Redis has lost its primary',
  CLUSTERDOWN: 'Redis is not whole',
};

/**
 * Throws `unavailable` for a lost connection and for what passes, `internal` for any other refusal. Neither carries the
 * command, whose arguments are what people wrote.
 */
export async function reached<T>(reply: Promise<T> | undefined): Promise<T> {
  try {
    return (await reply) as T;
  } catch (thrown) {
    const cause = withoutCommand(thrown);
    const { what } = troubleOf(cause);
    if (what === undefined)
      throw new AppError('internal', `Redis refused a command: ${cause.message}`, { cause });
    throw unavailable(what, cause);
  }
}

/**
 * Why a command failed: Redis's code (`OOM`), undefined where Redis did not answer; and what that means, undefined for a
 * refusal that repeating does not help.
 */
export function troubleOf({ name, message }: Error): { code?: string; what: string | undefined } {
  if (name !== 'ReplyError') return { what: 'Redis does not answer' };
  const [code = ''] = message.split(' ', 1);
  return { code, what: Object.hasOwn(passing, code) ? passing[code] : undefined };
}

/** For a caller who cannot know whether it happened. `what` is a sentence without its full stop. */
export function unavailable(what: string, cause?: Error): AppError {
  const message = `${what}. The request may have been accepted: repeat it with the same Idempotency-Key.`;
  return new AppError('unavailable', message, { cause });
}

function withoutCommand(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  const { name, stack } = thrown;
  const message = thrown.message.replace(/, with args beginning with: .*/s, '');
  return Object.assign(new Error(message), { name, stack });
}
