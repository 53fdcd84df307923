import { z } from 'zod';

const LockedVersion = z.object({ version: z.string().optional(), sha256: z.string() });
/** What differs from the tool lock. */
export const ToolLockState = z.object({
  mode: z
    .enum(['off', 'report', 'enforce'])
    .describe('report: what differs is offered all the same; enforce: it is withheld'),
  differences: z.array(
    z.object({
      kind: z.enum(['tools', 'prompts', 'resources', 'instructions', 'commands']),
      name: z.string(),
      plugin: z.string().nullable(),
      difference: z
        .enum(['changed', 'new', 'missing'])
        .describe(
          'changed: not as it was accepted; new: never accepted; missing: accepted, and no longer offered',
        ),
      accepted: LockedVersion.nullable(),
      offered: LockedVersion.extend({
        seen: z.record(z.string(), z.unknown()).describe('What clients see of it'),
      }).nullable(),
    }),
  ),
});
/** The state of the tool lock. */
export type ToolLockState = z.infer<typeof ToolLockState>;
