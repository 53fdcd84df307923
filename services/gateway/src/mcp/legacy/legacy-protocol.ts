/**
 * What clients of the 2025 protocols return, validated with the official SDK's schemas. The SDK's sessions and streams are
 * not used, because they are bound to one process (see legacy-era.ts).
 */
import { AppError } from '@harness/contracts';
import type { InputRequest } from '@harness/plugin-kit';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import { problemsOf } from '../method-params.ts';

export type { InitializeResult, ServerNotification } from '@modelcontextprotocol/sdk/types.js';

const resultSchemas: Readonly<Record<InputRequest['method'], z.ZodType>> = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultSchema,
  'roots/list': ListRootsResultSchema,
};

/**
 * Validates the client's result of a request to it. Throws `invalid_request` if it does not fit the
 * method.
 */
export function readClientResult(method: InputRequest['method'], result: unknown): Record<string, unknown> {
  const parsed = resultSchemas[method].safeParse(result);
  if (parsed.success) return result as Record<string, unknown>;
  const problems = problemsOf(parsed.error);
  throw new AppError('invalid_request', `The client's result of ${method} is not valid: ${problems}`);
}
