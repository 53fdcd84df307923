/**
 * Errors: one table, three doors (REST, MCP, queue). Whatever leaves a process as a failure is one of these codes.
 *
 * `retry` says whether the same request may succeed later without a change by the caller.
 */
const table = {
  invalid_request: { status: 400, retry: false },
  unauthorized: { status: 401, retry: false },
  forbidden: { status: 403, retry: false },
  not_found: { status: 404, retry: false },
  thread_not_found: { status: 404, retry: false },
  run_not_found: { status: 404, retry: false },
  task_not_found: { status: 404, retry: false },
  tool_not_found: { status: 404, retry: false },
  resource_not_found: { status: 404, retry: false },
  prompt_not_found: { status: 404, retry: false },
  plugin_not_found: { status: 404, retry: false },
  agent_not_found: { status: 404, retry: false },
  skill_not_found: { status: 404, retry: false },
  worker_not_found: { status: 404, retry: false },
  method_not_allowed: { status: 405, retry: false },
  /** The request did not arrive whole in time. */
  request_timeout: { status: 408, retry: true },
  thread_exists: { status: 409, retry: false },
  run_in_progress: { status: 409, retry: true },
  stale_epoch: { status: 409, retry: false },
  /** The bus: the task or worker is in another state than this needs; `details.state` names it. */
  wrong_state: { status: 409, retry: false },
  /** The bus: the task has a result already, and it is not this one. */
  result_conflict: { status: 409, retry: false },
  events_trimmed: { status: 410, retry: false },
  /** The bus: the task was given to somebody else meanwhile. */
  lease_lost: { status: 412, retry: false },
  /** The bus: the task was assigned more than once, so a call must say which assignment it means. */
  lease_required: { status: 428, retry: false },
  body_too_large: { status: 413, retry: false },
  url_too_long: { status: 414, retry: false },
  headers_too_large: { status: 431, retry: false },
  /** The client did not say that it can do what is asked of it. */
  capability_missing: { status: 400, retry: false },
  unsupported_media_type: { status: 415, retry: false },
  invalid_tool_input: { status: 422, retry: false },
  idempotency_conflict: { status: 422, retry: false },
  task_depth_exceeded: { status: 422, retry: false },
  task_chain_exceeded: { status: 422, retry: false },
  too_many_children: { status: 429, retry: true },
  mailbox_full: { status: 429, retry: true },
  bus_full: { status: 429, retry: true },
  too_many_streams: { status: 429, retry: true },
  internal: { status: 500, retry: false },
  /** The tool's own failure; a result with `isError`, never an HTTP failure by itself. */
  tool_failed: { status: 500, retry: false },
  /** An external worker said that it could not do a delegated task. */
  task_failed: { status: 500, retry: false },
  tool_timeout: { status: 504, retry: true },
  /** The process of the plugin has ended, and is started again. */
  plugin_unavailable: { status: 503, retry: true },
  /** Redis did not answer: the request may have been accepted; repeat it with the same Idempotency-Key. */
  unavailable: { status: 503, retry: true },
  model_error: { status: 502, retry: false },
  turn_timeout: { status: 504, retry: false },
  turn_cancelled: { status: 409, retry: false },
  attempts_exhausted: { status: 500, retry: false },
  invoke_timeout: { status: 504, retry: false },
  session_failed: { status: 503, retry: true },
} as const satisfies Record<string, { status: number; retry: boolean }>;

export type ErrorCode = keyof typeof table;

export const errorCodes = Object.keys(table) as ErrorCode[];

/** The wire shape of every failure: `{error: {code, message, details?}}` in REST, the same object in runs and events. */
export interface ErrorBody {
  code: string;
  message: string;
  details?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; details?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details;
  }

  get status(): number {
    return table[this.code].status;
  }

  get retry(): boolean {
    return table[this.code].retry;
  }

  /** What a caller may see. The text of an unexpected failure stays in the log. */
  toBody(): ErrorBody {
    const message =
      this.code === 'internal' ? 'Something went wrong on our side; the log has the cause.' : this.message;
    return {
      code: this.code,
      message,
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** The one way in: whatever was thrown becomes an AppError, `internal` unless it already is one. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError('internal', message, { cause: thrown });
}
