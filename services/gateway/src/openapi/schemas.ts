/**
 * JSON Schemas for Fastify and OpenAPI, made from the contracts. Resources are shared by `$id`, so that openapi.yaml
 * names them once.
 */
import * as contracts from '@harness/contracts';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
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
  Command,
  CommandResult,
  Error: ErrorAnswer,
};

/** run.completed -> RunCompletedEvent */
const eventNameOf = (type: string) =>
  `${type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;

export function addSharedSchemas(app: FastifyInstance): void {
  for (const [$id, schema] of Object.entries(shared)) app.addSchema({ $id, ...jsonSchemaOf(schema) });
  for (const type of contracts.eventTypes)
    app.addSchema({ $id: eventNameOf(type), ...jsonSchemaOf(contracts.eventDataOf(type)) });
  const names = contracts.eventTypes.map((type) => [type, eventNameOf(type)] as const);
  app.addSchema({
    $id: 'EventData',
    description: 'The `data` of an event; of a stream, each `data:` line is one',
    oneOf: names.map(([, name]) => ({ $ref: `${name}#` })),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(names.map(([type, name]) => [type, `#/components/schemas/${name}`])),
    },
  });
  app.addSchema({
    $id: 'Event',
    type: 'object',
    properties: {
      id: { type: ['string', 'null'], description: 'Null for what is not stored' },
      type: { enum: contracts.eventTypes },
      data: refTo('EventData'),
    },
    required: ['id', 'type', 'data'],
  });
}

type SchemaName = keyof typeof shared | 'Event' | 'EventData';
export const refTo = (name: SchemaName) => ({ $ref: `${name}#` });
export const listOf = (field: string, name: SchemaName) => ({
  type: 'object',
  properties: { [field]: { type: 'array', items: refTo(name) } },
  required: [field],
});

/** A list of what was loaded, and what is wrong with the rest. */
export const loadedOf = (field: string, name: SchemaName) => ({
  type: 'object',
  properties: {
    [field]: { type: 'array', items: refTo(name) },
    diagnostics: { type: 'array', items: refTo('Diagnostic') },
  },
  required: [field, 'diagnostics'],
});

type Failure = 400 | 401 | 403 | 404 | 408 | 409 | 410 | 412 | 413 | 414 | 415 | 422 | 428 | 429 | 431 | 503;

const failing = (statuses: readonly Failure[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, { description: failureWords[status], ...refTo('Error') }]),
  );

/** Answers of a route: its own, and the failures it names. */
export const answers = (own: Record<number, object>, ...failures: Failure[]) => ({
  ...own,
  ...failing([...failures, 401, 503]),
});

/** What any request may be refused for, whatever its route; with a body, for more. */
export const generalFailures = (hasBody: boolean) =>
  failing([400, 403, 408, 414, 431, ...(hasBody ? ([413, 415] as const) : [])]);

const failureWords: Record<Failure, string> = {
  400: 'The request is malformed',
  401: 'No key or access token, or none that is valid',
  403: 'The key or token lacks the scope, or Host or Origin is not allowed',
  404: 'Unknown to this tenant',
  408: 'The request did not arrive whole in time',
  409: 'In conflict with what is there',
  410: 'The cursor is older than what is kept',
  413: 'The body is too large',
  414: 'The URL is too long',
  415: 'A body is JSON: Content-Type application/json',
  412: 'The lease is not the task’s current one: it was given to somebody else',
  422: 'Understood, but not acceptable',
  428: 'The task was assigned more than once: say which assignment, by its lease',
  429: 'A bound is reached; try again later',
  431: 'The headers are too large',
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
    validateSchema: false, // they are our own, and a test sends requests to each
  } as const;
  const exact = addFormats.default(new Ajv2020(options));
  // Ajv reads "1e309" as infinite, which by default no bound applies to.
  const reading = addFormats.default(
    new Ajv2020({ ...options, coerceTypes: true, useDefaults: true, strictNumbers: false }),
  );
  return ({ schema, httpPart }: { schema: object; httpPart?: string }) =>
    lazily(() => (httpPart === 'body' ? exact : reading).compile(schema));
}

/** Compiled at the first request: all of them would be a fifth of a start. */
function lazily(compile: () => ValidateFunction) {
  let compiled: ValidateFunction | undefined;
  return function validate(data: unknown): boolean {
    compiled ??= compile();
    const isValid = compiled(data) as boolean;
    Object.assign(validate, { errors: compiled.errors });
    return isValid;
  };
}

export const page = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    offset: { type: 'integer', minimum: 0, maximum: 1_000_000, default: 0 },
  },
  additionalProperties: false,
};
