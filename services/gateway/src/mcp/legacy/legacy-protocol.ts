/**
 * What clients of the 2025 protocols say and are told, as the official SDK defines it. Its schemas and types are used;
 * its sessions and streams are not, for they live in one process: see legacy-era.ts. tools/call and tools/list are read
 * by hand (methods.ts), since they are most of the traffic.
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

const said = {
  // Who the client is stands in no answer of ours: a client that does not say so is served, too.
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

const answered: Readonly<Record<InputRequest['method'], z.ZodType>> = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultSchema,
  'roots/list': ListRootsResultSchema,
};

type Said = typeof said;

/** The params of a message, as its method wants them. Throws `invalid_request` with every problem. */
export function readParams<Method extends keyof Said>(
  method: Method,
  params: Params,
): z.output<Said[Method]> {
  const parsed = said[method].safeParse(params);
  if (parsed.success) return parsed.data as z.output<Said[Method]>;
  throw new AppError('invalid_request', `${method}: ${problemsOf(parsed.error)}`);
}

/** Throws `invalid_request` for params that are not as their method wants them; methods not listed here pass. */
export function checkParams(method: string, params: Params): void {
  if (Object.hasOwn(said, method)) readParams(method as keyof Said, params);
}

/** A client's answer to a request of ours. Throws `capability_missing` for what is none. */
export function readAnswer(method: InputRequest['method'], result: unknown): Record<string, unknown> {
  const parsed = answered[method].safeParse(result);
  if (parsed.success) return result as Record<string, unknown>;
  const problems = problemsOf(parsed.error);
  throw new AppError('capability_missing', `The client answered ${method} with something else: ${problems}`);
}

const problemsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'params'}: ${message}`).join('; ');
