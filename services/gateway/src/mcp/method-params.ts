/** Params of MCP methods, validated with the official SDK's schemas. Those of tools/call are read by hand (methods.ts). */
import { AppError } from '@harness/contracts';
import {
  CancelledNotificationParamsSchema,
  CompleteRequestParamsSchema,
  GetPromptRequestParamsSchema,
  InitializeRequestParamsSchema,
  PaginatedRequestParamsSchema,
  ReadResourceRequestParamsSchema,
  SetLevelRequestParamsSchema,
  SubscribeRequestParamsSchema,
  UnsubscribeRequestParamsSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import type { Params } from './wire/json-rpc.ts';

const paramSchemas = {
  // clientInfo is not used, so clients that omit it are served, too.
  initialize: InitializeRequestParamsSchema.pick({ protocolVersion: true, capabilities: true }),
  'logging/setLevel': SetLevelRequestParamsSchema,
  'resources/subscribe': SubscribeRequestParamsSchema,
  'resources/unsubscribe': UnsubscribeRequestParamsSchema,
  'tools/list': PaginatedRequestParamsSchema,
  'resources/list': PaginatedRequestParamsSchema,
  'resources/templates/list': PaginatedRequestParamsSchema,
  'resources/read': ReadResourceRequestParamsSchema,
  'prompts/list': PaginatedRequestParamsSchema,
  'prompts/get': GetPromptRequestParamsSchema,
  'completion/complete': CompleteRequestParamsSchema,
  'notifications/cancelled': CancelledNotificationParamsSchema,
} as const satisfies Record<string, z.ZodType>;

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

/** Every problem, with its place. */
export const problemsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'params'}: ${message}`).join('; ');
