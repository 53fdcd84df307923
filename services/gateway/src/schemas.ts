/**
 * JSON Schemas for Fastify and OpenAPI, made from the contracts. Resources are shared by `$id`, so that openapi.yaml
 * names them once.
 */
import * as contracts from '@harness/contracts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

export function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
  return rest;
}

const ErrorAnswer = z.object({ error: contracts.Failure });

const ToolAnswer = z.object({
  content: z.array(z.record(z.string(), z.unknown())),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean(),
});

const ToolDescription = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  annotations: z.record(z.string(), z.unknown()).optional(),
});

const Diagnostic = z.object({
  source: z.string().describe('The file or module'),
  level: z.enum(['error', 'warning']).describe('An error did not load'),
  message: z.string(),
});

const Skill = z.object({
  name: z.string(),
  description: z.string(),
  tool: z.string().optional().describe('Absent where agents may not call it'),
  userInvocable: z.boolean().describe('There is a command /<name>'),
  modelInvocable: z.boolean(),
  context: z.enum(['inline', 'fork']).describe('fork: a sub-agent follows it'),
  allowedTools: z.array(z.string()).optional().describe('Absent: all'),
  argumentHint: z.string().optional(),
  model: z.string().optional(),
  files: z.array(z.object({ path: z.string(), size: z.number().int().describe('Bytes') })),
});

const Agent = z.object({
  name: z.string(),
  description: z.string(),
  model: z.string().optional(),
  tools: z.array(z.string()).optional().describe('Absent: all'),
});

const Event = z.object({
  id: z.string().nullable().describe('Null for what is not stored'),
  type: z.enum(contracts.eventTypes),
  data: z.looseObject({
    threadId: contracts.ThreadId.optional(),
    runId: contracts.RunId.optional(),
    at: z.iso.datetime(),
  }),
});

const Command = z.object({
  name: z.string().describe('Without the slash'),
  description: z.string(),
  group: z.enum(['built-in', 'skill', 'plugin']),
  argumentHint: z.string().optional(),
});

const CommandResult = z.object({
  output: z.string(),
  isError: z.boolean(),
  action: z.enum(['quit', 'clear']).optional().describe('For whoever shows it: leave; go on in a new thread'),
  runId: contracts.RunId.optional().describe('The run that the command began on the thread'),
});

const shared = {
  Thread: contracts.Thread,
  Run: contracts.Run,
  AcceptedRun: contracts.Run.extend({ streamUrl: z.string() }),
  Task: contracts.Task,
  ThreadSession: contracts.ThreadSession,
  Worker: contracts.WorkerInfo,
  BusTask: contracts.BusTask,
  BusTaskDetail: contracts.BusTaskDetail,
  BusWorker: contracts.BusWorker,
  Tool: ToolDescription,
  ToolAnswer,
  Plugin: contracts.Plugin,
  Skill,
  Agent,
  Diagnostic,
  Event,
  Command,
  CommandResult,
  Error: ErrorAnswer,
};

export function addSharedSchemas(app: FastifyInstance): void {
  for (const [$id, schema] of Object.entries(shared)) app.addSchema({ $id, ...jsonSchemaOf(schema) });
}

export const refTo = (name: keyof typeof shared) => ({ $ref: `${name}#` });
export const listOf = (field: string, name: keyof typeof shared) => ({
  type: 'object',
  properties: { [field]: { type: 'array', items: refTo(name) } },
  required: [field],
});

/** A list of what was loaded, and what is wrong with the rest. */
export const loadedOf = (field: string, name: keyof typeof shared) => ({
  type: 'object',
  properties: {
    [field]: { type: 'array', items: refTo(name) },
    diagnostics: { type: 'array', items: refTo('Diagnostic') },
  },
  required: [field, 'diagnostics'],
});

/** Answers of a route: its own, and the failures it names. */
export const answers = (
  own: Record<number, object>,
  ...failures: (400 | 404 | 409 | 410 | 412 | 422 | 428 | 429)[]
) => {
  const all = [...failures, 401, 403, 503];
  return {
    ...own,
    ...Object.fromEntries(
      all.map((status) => [status, { description: failureWords[status], ...refTo('Error') }]),
    ),
  };
};

const failureWords: Record<number, string> = {
  400: 'The request is malformed',
  401: 'No key or access token, or none that is valid',
  403: 'The key or token lacks the scope, or Host or Origin is not allowed',
  404: 'Unknown to this tenant',
  409: 'In conflict with what is there',
  410: 'The cursor is older than what is kept',
  412: 'The lease is not the task’s current one: it was given to somebody else',
  422: 'Understood, but not acceptable',
  428: 'The task was assigned more than once: say which assignment, by its lease',
  429: 'A bound is reached; try again later',
  503: 'Redis does not answer; the request may have been accepted: repeat it with the same Idempotency-Key',
};

/**
 * Bodies are taken as they are: nothing is coerced, added or removed. Query and path come as text, so there numbers
 * and booleans are read.
 */
export function createValidators() {
  const options = {
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
  } as const;
  const exact = addFormats.default(new Ajv2020(options));
  const reading = addFormats.default(new Ajv2020({ ...options, coerceTypes: true, useDefaults: true }));
  return ({ schema, httpPart }: { schema: object; httpPart?: string }) =>
    (httpPart === 'body' ? exact : reading).compile(schema);
}

export const page = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    offset: { type: 'integer', minimum: 0, maximum: 1_000_000, default: 0 },
  },
  additionalProperties: false,
};
