/** JSON-RPC 2.0 as MCP uses it: one message per request, never a batch. */
import { AppError, type ErrorCode, isObject, toAppError } from '@harness/contracts';
import type { Scrubber } from '@harness/runtime';
import { NotJson } from '../../http/json-body.ts';

/** Id of a JSON-RPC request. */
export type RequestId = string | number;
/** Params of a message, not validated. */
export type Params = Record<string, unknown>;

/** A message from a client. */
export type Incoming =
  | { kind: 'request'; id: RequestId; method: string; params: Params }
  | { kind: 'notification'; method: string; params: Params }
  /** The client's response to a request of the gateway. */
  | { kind: 'response'; id: RequestId; message: Params };

/** The `error` of a JSON-RPC response. */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** Error codes of JSON-RPC and MCP. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** 2025 versions only; 2026-07-28 uses invalidParams. */
  resourceNotFound: -32002,
  forbidden: -32003,
  headerMismatch: -32020,
  capabilityMissing: -32021,
} as const;

/** The refusal of JSON that is no JSON-RPC message. */
class NotMessage extends AppError {
  constructor(message: string) {
    super('invalid_request', message);
  }
}

/** Parses one JSON-RPC message. Throws `invalid_request`. */
export function parseIncoming(body: unknown): Incoming {
  if (Array.isArray(body))
    throw new NotMessage('JSON-RPC batches are not accepted. Send each message in a request of its own.');
  if (!isObject(body) || body.jsonrpc !== '2.0')
    throw new NotMessage('The body must be one JSON-RPC 2.0 message.');
  const { id, method, params = {} } = body;
  const hasId = typeof id === 'string' || typeof id === 'number';
  if (typeof method !== 'string') {
    if (hasId && ('result' in body || 'error' in body)) return { kind: 'response', id, message: body };
    throw new NotMessage('The message has neither a method nor a result.');
  }
  if (!isObject(params)) throw new NotMessage('"params" must be an object.');
  if (hasId) return { kind: 'request', id, method, params };
  if (id === undefined) return { kind: 'notification', method, params };
  throw new NotMessage('"id" must be a string or a number.');
}

/** The id of a request, also of a wrong one; null if it has none. */
export const requestIdIn = (body: unknown): RequestId | null =>
  isObject(body) && 'method' in body && (typeof body.id === 'string' || typeof body.id === 'number')
    ? body.id
    : null;

/** A response with a result. */
export const resultMessage = (id: RequestId, result: object) => ({ jsonrpc: '2.0', id, result });
/**
 * A response to tools/list, in pieces; `tools` is the list as JSON, `tail` the JSON that follows it in the
 * result.
 */
export const toolListMessage = (id: RequestId, tools: Buffer, tail = ''): readonly Buffer[] => [
  Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":`),
  tools,
  Buffer.from(`${tail}}}`),
];
/** A response with an error; `id` is null if that of the request is unknown. */
export const errorMessage = (id: RequestId | null, error: RpcError) => ({ jsonrpc: '2.0', id, error });
/** A notification. */
export const notificationMessage = <Notification extends { method: string; params?: object | undefined }>(
  notification: Notification,
) => ({ jsonrpc: '2.0' as const, ...notification });

const faults: Partial<Record<ErrorCode, number>> = {
  tool_not_found: rpcCodes.invalidParams,
  prompt_not_found: rpcCodes.invalidParams,
  resource_not_found: rpcCodes.invalidParams,
  task_not_found: rpcCodes.invalidParams,
  invalid_request: rpcCodes.invalidParams,
  invalid_tool_input: rpcCodes.invalidParams,
  body_too_large: rpcCodes.invalidRequest,
  unsupported_media_type: rpcCodes.invalidRequest,
  method_not_allowed: rpcCodes.methodNotFound,
  forbidden: rpcCodes.forbidden,
  capability_missing: rpcCodes.capabilityMissing,
};

const rpcCodeOf = (error: AppError): number => {
  if (error instanceof NotJson) return rpcCodes.parseError;
  if (error instanceof NotMessage) return rpcCodes.invalidRequest;
  return faults[error.code] ?? rpcCodes.internalError;
};

/**
 * Converts anything thrown into a JSON-RPC error. `data.code` is the code of the error table. The text of an
 * unexpected failure is never sent.
 */
export type FaultOf = (thrown: unknown) => RpcError;

/** Creates the conversion, which also replaces secrets. */
export const createFaultOf =
  (scrubber: Scrubber): FaultOf =>
  (thrown) => {
    const error = toAppError(thrown);
    const { message, code, details } = scrubber.json(error.toBody());
    const own = isObject(details) ? details : details === undefined ? {} : { details };
    return { code: rpcCodeOf(error), message, data: { code, ...own } };
  };
