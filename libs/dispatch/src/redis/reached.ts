import { AppError } from '@harness/contracts';

/** Redis error codes of a condition that passes, or that the operator ends: the same command may succeed later. */
const passing: Record<string, string> = {
  OOM: 'Redis is full and takes no writes',
  MISCONF: 'Redis cannot write to its disk and takes no writes',
  READONLY: 'Redis is currently a replica and takes no writes',
  NOREPLICAS: 'Redis has too few replicas and takes no writes',
  LOADING: 'Redis is loading its data',
  BUSY: 'Redis is busy running a script',
  MASTERDOWN: 'This Redis replica has lost its primary',
  CLUSTERDOWN: 'The Redis cluster is incomplete',
  NOAUTH: 'Redis wants a login',
  WRONGPASS: 'Redis refuses the login',
  NOPERM: 'The user at Redis lacks a right',
};

/**
 * Awaits a reply of Redis. Throws `unavailable` for a lost connection and for a temporary condition,
 * `internal` for any other refusal. The error never carries the command, whose arguments are user data.
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

/** Awaits the replies of a pipeline. Throws like `reached` if one of its commands failed. */
export async function reachedAll(
  replies: Promise<[error: Error | null, reply: unknown][] | null>,
): Promise<void> {
  for (const [error] of (await reached(replies)) ?? []) if (error) await reached(Promise.reject(error));
}

/**
 * Classifies a failed command. `code`: the error code of Redis (`OOM`), undefined when Redis did not answer.
 * `what`: the condition in words, undefined for a refusal that a repeat cannot resolve.
 */
export function troubleOf({ name, message }: Error): { code?: string; what: string | undefined } {
  if (name !== 'ReplyError') return { what: 'Redis does not answer' };
  const [code = ''] = message.split(' ', 1);
  return { code, what: Object.hasOwn(passing, code) ? passing[code] : undefined };
}

/**
 * The error for a caller that cannot know whether its write happened. `what`: the cause, a sentence without
 * its full stop.
 */
export function unavailable(what: string, cause?: Error): AppError {
  const message = `${what}. The request may have been accepted: repeat it with the same Idempotency-Key.`;
  return new AppError('unavailable', message, { cause });
}

/** A transaction that Redis discarded has the refusals of its commands, of which the first one is the reason. */
function withoutCommand(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  const [reason = thrown] = (thrown as { previousErrors?: Error[] }).previousErrors ?? [];
  const { name, stack } = reason;
  const message = reason.message.replace(/, with args beginning with: .*/s, '');
  return Object.assign(new Error(message), { name, stack });
}
