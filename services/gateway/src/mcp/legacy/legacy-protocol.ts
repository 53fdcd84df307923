/**
 * The messages of the 2025 protocols, validated with the official SDK's schemas. The SDK's sessions and
 * streams are not used, because they are bound to one process (see legacy-era.ts). tools/call and tools/list,
 * most of the traffic, are read by hand (methods.ts).
 */
import { AppError } from '@harness/contracts';
import type { InputRequest } from '@harness/plugin-kit';
import {
  CancelledNotificationParamsSchema,
  CompleteRequestParamsSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestParamsSchema,
  InitializeRequestParamsSchema,
  ListRootsResultSchema,
  PaginatedRequestParamsSchema,
  ReadResourceRequestParamsSchema,
  SetLevelRequestParamsSchema,
  SubscribeRequestParamsSchema,
  UnsubscribeRequestParamsSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import type { Params } from '../wire/json-rpc.ts';

export type { InitializeResult, ServerNotification } from '@modelcontextprotocol/sdk/types.js';

const paramSchemas = {
  // clientInfo is not used, so clients that omit it are served, too.
  initialize: InitializeRequestParamsSchema.pick({ protocolVersion: true, capabilities: true }),
  'logging/setLevel': SetLevelRequestParamsSchema,
  'resources/subscribe': SubscribeRequestParamsSchema,
  'resources/unsubscribe': UnsubscribeRequestParamsSchema,
  'resources/list': PaginatedRequestParamsSchema,
  'resources/templates/list': PaginatedRequestParamsSchema,
  'resources/read': ReadResourceRequestParamsSchema,
  'prompts/list': PaginatedRequestParamsSchema,
  'prompts/get': GetPromptRequestParamsSchema,
  'completion/complete': CompleteRequestParamsSchema,
  'notifications/cancelled': CancelledNotificationParamsSchema,
} as const satisfies Record<string, z.ZodType>;

const resultSchemas: Readonly<Record<InputRequest['method'], z.ZodType>> = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultSchema,
  'roots/list': ListRootsResultSchema,
};

type ParamSchemas = typeof paramSchemas;

/** Validates the params of a method. Throws `invalid_request` with every problem. */
export function readParams<Method extends keyof ParamSchemas>(
  method: Method,
  params: Params,
): z.output<ParamSchemas[Method]> {
  const parsed = paramSchemas[method].safeParse(params);
  if (parsed.success) return parsed.data as z.output<ParamSchemas[Method]>;
  throw new AppError('invalid_request', `${method}: ${problemsOf(parsed.error)}`);
}

/**
 * Throws `invalid_request` if the params do not fit the method; other methods than the above are not checked.
 */
export function checkParams(method: string, params: Params): void {
  if (Object.hasOwn(paramSchemas, method)) readParams(method as keyof ParamSchemas, params);
}

/**
 * Validates the client's result of a request to it. Throws `capability_missing` if it does not fit the
 * method.
 */
export function readClientResult(method: InputRequest['method'], result: unknown): Record<string, unknown> {
  const parsed = resultSchemas[method].safeParse(result);
  if (parsed.success) return result as Record<string, unknown>;
  const problems = problemsOf(parsed.error);
  throw new AppError('capability_missing', `The client's result of ${method} is not valid: ${problems}`);
}

const problemsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'params'}: ${message}`).join('; ');
