/**
 * JSON Schemas for Fastify and OpenAPI, made from the contracts. Resources are shared by `$id`, so that
 * openapi.yaml has each of them once.
 *
 * This folder:
 *   openapi-info.ts     title, tags and security of openapi.yaml
 *   render-openapi.ts   generates openapi.yaml from the routes
 *   write-openapi.ts    `npm run openapi`
 *   docs-route.ts       /docs, Swagger UI
 */
import * as contracts from '@harness/contracts';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ApiKey } from '../keys/api-keys.ts';

/** The JSON Schema (draft 2020-12) of a zod schema's input, without `$schema`. */
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
  level: z.enum(['error', 'warning']).describe('error: it was not loaded'),
  message: z.string(),
});

const Skill = z.object({
  name: z.string(),
  description: z.string(),
  tool: z.string().optional().describe('Absent if agents may not call it'),
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
  code: z.string().optional().describe('The error code of a command that failed with one'),
  action: z.enum(['quit', 'clear']).optional().describe('For the client: quit, or continue in a new thread'),
  runId: contracts.RunId.optional().describe('The run that the command started on the thread'),
});

const ShownKey = ApiKey.omit({ keySha256: true })
  .extend({
    source: z
      .enum(['api', 'file', 'environment'])
      .describe('What made it; only those of the API can be revoked there'),
    createdAt: z.iso.datetime().optional(),
    createdBy: z.string().optional().describe('The key, or `oauth:` and the subject, that made it'),
  })
  .strip();

const ConsoleSession = z.object({
  tenant: z.string(),
  keyId: z.string().describe('Id of the key, or `oauth:` and the subject of the access token'),
  scopes: z.array(z.string()),
  signIn: z
    .enum(['none', 'needed'])
    .describe('none: the gateway has no keys, and everybody on its machine may use it'),
  expiresAt: z
    .string()
    .nullable()
    .describe('When the session of the console ends; null: the caller has none'),
});

const shared = {
  Thread: contracts.Thread,
  ListedThread: contracts.ListedThread,
  Run: contracts.Run,
  FileChanges: contracts.FileChanges,
  ListedFile: contracts.ListedFile,
  AcceptedRun: contracts.Run.extend({ streamUrl: z.string() }),
  Task: contracts.Task,
  ThreadSession: contracts.ThreadSession,
  Worker: contracts.WorkerInfo,
  WorkerSession: contracts.WorkerSession,
  ToolLockState: contracts.ToolLockState,
  BusTask: contracts.BusTask,
  BusTaskDetail: contracts.BusTaskDetail,
  BusWorker: contracts.BusWorker,
  Tool: ToolDescription,
  ToolAnswer,
  Plugin: contracts.Plugin,
  Upstream: contracts.Upstream,
  AuditRecord: contracts.AuditRecord,
  ApiKey: ShownKey,
  Skill,
  Agent,
  Diagnostic,
  Command,
  CommandResult,
  ConsoleSession,
  Error: ErrorAnswer,
};

/** run.completed -> RunCompletedEvent */
const eventNameOf = (type: string) =>
  `${type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;

/** Registers the shared schemas and one schema per event type; `refTo` refers to them. */
export function addSharedSchemas(app: FastifyInstance): void {
  for (const [$id, schema] of Object.entries(shared)) app.addSchema({ $id, ...jsonSchemaOf(schema) });
  for (const type of contracts.eventTypes)
    app.addSchema({ $id: eventNameOf(type), ...jsonSchemaOf(contracts.eventDataOf(type)) });
  const names = contracts.eventTypes.map((type) => [type, eventNameOf(type)] as const);
  app.addSchema({
    $id: 'EventData',
    description: 'The `data` of an event: each `data:` line of a stream holds one',
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
      id: { type: ['string', 'null'], description: 'Null for an event that is not stored' },
      type: { enum: contracts.eventTypes },
      data: refTo('EventData'),
    },
    required: ['id', 'type', 'data'],
  });
}

type SchemaName = keyof typeof shared | 'Event' | 'EventData';
/** A reference to a shared schema. */
export const refTo = (name: SchemaName) => ({ $ref: `${name}#` });
/** The schema of `{[field]: [...]}`. */
export const listOf = (field: string, name: SchemaName) => ({
  type: 'object',
  properties: { [field]: { type: 'array', items: refTo(name) } },
  required: [field],
});

/** The schema of such a list that ends before it has 1 MB. */
export const boundedListOf = (field: string, name: SchemaName) => {
  const list = listOf(field, name);
  const description = 'The page has more items than fit into 1 MB: read on at offset + the number of these';
  return { ...list, properties: { ...list.properties, truncated: { const: true, description } } };
};

/** The schema of `{[field]: [...], diagnostics}`: what was loaded, and why the rest was not. */
export const loadedOf = (field: string, name: SchemaName) => ({
  type: 'object',
  properties: {
    [field]: { type: 'array', items: refTo(name) },
    diagnostics: { type: 'array', items: refTo('Diagnostic') },
  },
  required: [field, 'diagnostics'],
});

type Failure =
  | 400
  | 401
  | 403
  | 404
  | 408
  | 409
  | 410
  | 412
  | 413
  | 414
  | 415
  | 416
  | 422
  | 428
  | 429
  | 431
  | 503
  | 507;

const failing = (statuses: readonly Failure[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, { description: failureWords[status], ...refTo('Error') }]),
  );

/** The responses of a route: its own, the named failures, and 401, 429 and 503. */
export const answers = (own: Record<number, object>, ...failures: Failure[]) => ({
  ...own,
  ...failing([...failures, 401, 429, 503]),
});

/** Failures that every route can have; 413 and 415 only with a body. */
export const generalFailures = (hasBody: boolean) =>
  failing([400, 403, 408, 414, 431, ...(hasBody ? ([413, 415] as const) : [])]);

const failureWords: Record<Failure, string> = {
  400: 'The request is malformed',
  401: 'No key or access token, or none that is valid',
  403: 'The key or token lacks the scope, or Host or Origin is not allowed',
  404: 'Unknown to this tenant',
  408: 'The request did not arrive completely in time',
  409: 'In conflict with the current state',
  410: 'The cursor is older than the oldest stored event',
  413: 'The body is too large',
  414: 'The URL is too long',
  415: 'The body must be JSON (application/json), or what the operation names',
  416: 'The file has no bytes in the range',
  412: 'Not as the request expects: a file has changed, or a bus task was assigned again',
  422: 'Well-formed, but not acceptable',
  428: 'The task was assigned more than once: send the lease of the assignment',
  429: 'A limit is reached; try again later',
  431: 'The headers are too large',
  507: 'The disk that holds the files is full',
  503: 'Redis does not answer; the request may have been accepted: repeat it with the same Idempotency-Key',
};

/**
 * Creates the validator compiler. Bodies are validated as they are: nothing is coerced, added or removed.
 * Query and path are text, so numbers and booleans are coerced and defaults are set there.
 */
export function createValidators() {
  const options = {
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateSchema: false, // the schemas are ours, and tests send requests to each route
  } as const;
  const exact = addFormats.default(new Ajv2020(options));
  // Ajv coerces "1e309" to Infinity; with strictNumbers `maximum` would not apply to it.
  const reading = addFormats.default(
    new Ajv2020({ ...options, coerceTypes: true, useDefaults: true, strictNumbers: false }),
  );
  return ({ schema, httpPart }: { schema: object; httpPart?: string }) =>
    lazily(() => (httpPart === 'body' ? exact : reading).compile(schema));
}

/** Compiles at the first request: compiling all schemas would take a fifth of the start-up time. */
function lazily(compile: () => ValidateFunction) {
  let compiled: ValidateFunction | undefined;
  return function validate(data: unknown): boolean {
    compiled ??= compile();
    const isValid = compiled(data) as boolean;
    Object.assign(validate, { errors: compiled.errors });
    return isValid;
  };
}

/** The query of a list: `limit` and `offset`. */
export const page = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    offset: { type: 'integer', minimum: 0, maximum: 1_000_000, default: 0 },
  },
  additionalProperties: false,
};
