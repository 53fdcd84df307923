import { AppError } from '@harness/contracts';
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';

/** Why a request to an upstream has failed. */
export type RequestFailure =
  /** The upstream has answered with an error. */
  | { kind: 'answered'; error: AppError }
  /** Its server has forgotten the session; the request was not carried out, and may be repeated in a new one. */
  | { kind: 'session-lost'; error: AppError }
  /** The caller has cancelled. */
  | { kind: 'cancelled'; error: unknown }
  /** There was no answer. */
  | { kind: 'unanswered'; error: AppError };

/** Classifies what a connection threw. `name`: the upstream, for the message. `signal`: the caller's. */
export function failureOf(thrown: unknown, name: string, signal: AbortSignal | undefined): RequestFailure {
  if (signal?.aborted) {
    const { reason } = signal;
    const isLate = reason instanceof AppError && reason.code === 'tool_timeout';
    return isLate ? { kind: 'unanswered', error: reason } : { kind: 'cancelled', error: reason };
  }
  if (thrown instanceof AppError) return { kind: 'answered', error: thrown };
  if (thrown instanceof ProtocolError) return { kind: 'answered', error: answeredErrorOf(thrown) };
  if (thrown instanceof SyntaxError || (thrown instanceof Error && thrown.name === 'ZodError'))
    return {
      kind: 'answered',
      error: new AppError('tool_failed', `${name} responded with what is no message of MCP.`),
    };
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const because = causeOf(thrown);
  const error = new AppError('plugin_unavailable', `${name} did not answer: ${text}${because}`, {
    cause: thrown,
  });
  if (thrown instanceof SdkHttpError && isSessionLost(thrown)) return { kind: 'session-lost', error };
  if (thrown instanceof SdkHttpError && isOwnAnswer(thrown.status)) return { kind: 'answered', error };
  if (thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout)
    return { kind: 'unanswered', error: new AppError('tool_timeout', `${name} did not answer in time.`) };
  const isResult =
    thrown instanceof SdkError &&
    (thrown.code === SdkErrorCode.InvalidResult || thrown.code === SdkErrorCode.UnsupportedResultType);
  return { kind: isResult ? 'answered' : 'unanswered', error };
}

/** Also a redirect, and 500, are a server's answer to an input; 502 to 504 say that there is no server. */
const isOwnAnswer = (status: number): boolean => status >= 300 && status < 502;

/** MCP has 404 for a session that the server has forgotten; some servers answer 400 and say so. */
const isSessionLost = ({ status, message, data }: SdkHttpError): boolean =>
  status === 404 || (status === 400 && /session/i.test(`${message} ${JSON.stringify(data)}`));

/** An error of the upstream, with the code of our table that means the same. */
function answeredErrorOf({ code, message, data }: ProtocolError): AppError {
  const details = { upstream: { code, ...(data !== undefined && { data }) } };
  // The caller has not declared what it would have to do; `data` names it, as in our own errors.
  if (code === -32021) return new AppError('capability_missing', message, { details: data });
  // -32002: 2025 versions, "resource not found".
  if (code === -32002) return new AppError('resource_not_found', message, { details });
  return new AppError(code === -32602 ? 'invalid_request' : 'tool_failed', message, { details });
}

/** The reason below an error of the SDK. */
function causeOf(thrown: unknown): string {
  const cause = (thrown as { cause?: unknown })?.cause;
  if (!(cause instanceof Error)) return '';
  return ` (${(cause as { code?: string }).code ?? cause.message})`;
}
