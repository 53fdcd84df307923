import { z } from 'zod';

/** A part of an upstream that differs from the tool lock. */
export const LockDifference = z.object({
  kind: z.enum(['tools', 'prompts', 'resources', 'instructions', 'commands']),
  name: z.string(),
  change: z.enum(['new', 'changed']).describe('new: it was never accepted'),
  fields: z
    .array(z.object({ field: z.string(), accepted: z.string().nullable(), now: z.string().nullable() }))
    .describe('What differs; JSON where the field is no text, null where it is absent'),
});
/** A part of an upstream that differs from the tool lock. */
export type LockDifference = z.infer<typeof LockDifference>;

/** An MCP server or HTTP API outside this fleet, whose tools it offers. */
export const Upstream = z.object({
  name: z.string().describe('Its plugin; tools are <name>__<tool>'),
  kind: z.enum(['stdio', 'http', 'openapi']),
  scope: z.enum(['shared', 'thread']).describe('thread: a connection for each thread'),
  tenants: z.array(z.string()).nullable().describe('The only tenants that are given it; null = all'),
  sandbox: z
    .enum(['bubblewrap', 'bubblewrap-bound-proc', 'none'])
    .nullable()
    .describe(
      'What encloses its child process at the gateway that responds; none: it asks for a sandbox, has none, and is not started; null: it does not ask',
    ),
  enabled: z.boolean(),
  state: z
    .enum(['connecting', 'ready', 'waiting', 'closed', 'disabled'])
    .describe('At its owner. waiting: it is not connected, and will be tried again'),
  owner: z
    .string()
    .nullable()
    .describe('The gateway that is connected to it, where only one is; null = every gateway for itself'),
  era: z
    .enum(['legacy', 'modern'])
    .nullable()
    .describe('modern: MCP 2026-07-28; null: not known yet, or an HTTP API'),
  protocolVersion: z.string().nullable(),
  server: z.object({ name: z.string(), version: z.string() }).nullable().describe('As it calls itself'),
  instructions: z.string().nullable(),
  tools: z.array(z.string()).describe('As callers name them'),
  resources: z.number().int(),
  prompts: z.number().int(),
  lastError: z.string().nullable(),
  connections: z.number().int(),
  losses: z.number().int().describe('Connections that were lost'),
  calls: z.number().int().describe('Through the gateway that responds, since its start'),
  failures: z.number().int(),
  latencyMs: z.object({ p50: z.number(), p95: z.number() }).nullable().describe('Of the last hundred calls'),
  problems: z.array(z.string()).describe('What of it is not offered, and why'),
  lock: z.array(LockDifference).describe('What differs from the tool lock'),
});
/** An upstream. */
export type Upstream = z.infer<typeof Upstream>;
