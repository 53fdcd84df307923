import { z } from 'zod';

/**
 * Who did what: one change, tool call or refusal at a gateway. It never holds content: no arguments, messages or
 * results.
 */
export const AuditRecord = z.object({
  at: z.iso.datetime(),
  tenant: z.string().nullable().describe('Null if the caller is not known'),
  keyId: z
    .string()
    .nullable()
    .describe('Id of the API key, `oauth:` and the subject, or the thread of an agent’s session'),
  subject: z.string().nullable().describe('Subject of an access token'),
  address: z.string().nullable().describe('The client’s IP address'),
  action: z.string().describe('The operationId of a route, or the MCP method'),
  target: z
    .string()
    .nullable()
    .describe('What it was done to: the thread, run, task, plugin, worker, key or tool'),
  outcome: z.string().describe('`ok`, or the code of the error'),
  requestId: z.string().nullable().describe('As in the log of the gateway'),
  count: z.number().int().optional().describe('Equal refusals within a second; absent for one'),
});
/** A record of the audit. */
export type AuditRecord = z.infer<typeof AuditRecord>;
