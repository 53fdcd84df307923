/**
 * The error codes of every failure that leaves a process, translated by three transports (REST, MCP, queue).
 *
 * `retry`: the same request may succeed later without a change by the caller.
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
  file_not_found: { status: 404, retry: false },
  key_not_found: { status: 404, retry: false },
  method_not_allowed: { status: 405, retry: false },
  /** The request did not arrive completely in time. */
  request_timeout: { status: 408, retry: true },
  thread_exists: { status: 409, retry: false },
  key_exists: { status: 409, retry: false },
  run_in_progress: { status: 409, retry: true },
  stale_epoch: { status: 409, retry: false },
  /** A task or worker of the bus, or a key, is in a state that does not allow this call; `details` names it. */
  wrong_state: { status: 409, retry: false },
  /** The bus: the task already has another result. */
  result_conflict: { status: 409, retry: false },
  events_trimmed: { status: 410, retry: false },
  /** The resource has changed since the caller read it (If-Match); `details` names its current version. */
  precondition_failed: { status: 412, retry: false },
  /** The bus: the task was assigned to another worker meanwhile. */
  lease_lost: { status: 412, retry: false },
  /** The bus: the task was assigned more than once, so a call must identify its assignment. */
  lease_required: { status: 428, retry: false },
  body_too_large: { status: 413, retry: false },
  url_too_long: { status: 414, retry: false },
  headers_too_large: { status: 431, retry: false },
  /** The client did not declare a capability that the call needs. */
  capability_missing: { status: 400, retry: false },
  unsupported_media_type: { status: 415, retry: false },
  range_not_satisfiable: { status: 416, retry: false },
  invalid_tool_input: { status: 422, retry: false },
  idempotency_conflict: { status: 422, retry: false },
  task_depth_exceeded: { status: 422, retry: false },
  task_chain_exceeded: { status: 422, retry: false },
  /** The request asks for a workspace, which is not available; the message has the reason. */
  workspace_refused: { status: 422, retry: false },
  too_many_children: { status: 429, retry: true },
  mailbox_full: { status: 429, retry: true },
  bus_full: { status: 429, retry: true },
  too_many_streams: { status: 429, retry: true },
  /** Too many requests in a short time; `Retry-After` has the time to wait. */
  rate_limited: { status: 429, retry: true },
  /** A tenant or key holds as many of something as it may; `details` names the limit. */
  limit_reached: { status: 429, retry: true },
  internal: { status: 500, retry: false },
  /** A stored file is missing or damaged. */
  file_damaged: { status: 500, retry: false },
  /** The tool's own failure: a result with `isError`, not an HTTP error by itself. */
  tool_failed: { status: 500, retry: false },
  /** An external worker reported that it could not do a delegated task. */
  task_failed: { status: 500, retry: false },
  tool_timeout: { status: 504, retry: true },
  /** The plugin's process has ended and is being restarted. */
  plugin_unavailable: { status: 503, retry: true },
  /** Redis did not answer: the request may have been accepted; repeat it with the same Idempotency-Key. */
  unavailable: { status: 503, retry: true },
  /** The disk that holds the files is full. */
  storage_full: { status: 507, retry: true },
  model_error: { status: 502, retry: false },
  turn_timeout: { status: 504, retry: false },
  turn_cancelled: { status: 409, retry: false },
  attempts_exhausted: { status: 500, retry: false },
  invoke_timeout: { status: 504, retry: false },
  session_failed: { status: 503, retry: true },
  /** A session took more memory, disk or files than its sandbox allows. */
  sandbox_limit: { status: 500, retry: false },
} as const satisfies Record<string, { status: number; retry: boolean }>;

/** A code of the table. */
export type ErrorCode = keyof typeof table;

/** All codes. */
export const errorCodes = Object.keys(table) as ErrorCode[];

/** The wire shape of every failure: `{error: {code, message, details?}}` in REST, the same object in runs and events. */
export interface ErrorBody {
  code: string;
  message: string;
  details?: unknown;
}

/** An expected failure: a code of the table and a message for the caller. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: unknown;
  /** When the same request may succeed, ms from now; undefined = unknown. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** HTTP status. */
  get status(): number {
    return table[this.code].status;
  }

  /** Whether the same request may succeed later. */
  get retry(): boolean {
    return table[this.code].retry;
  }

  /** What a caller may see: the message of an `internal` error stays in the log. */
  toBody(): ErrorBody {
    const message =
      this.code === 'internal'
        ? 'The server failed unexpectedly. Try again later, or ask the operator: the log has the cause.'
        : this.message;
    return {
      code: this.code,
      message,
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** Turns anything thrown into an AppError: `internal` unless it already is one. The only such conversion. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError('internal', message, { cause: thrown });
}
