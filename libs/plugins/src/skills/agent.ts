import { z } from 'zod';
import { modelName, toolNames, visibleText } from './skill.ts';

/** A named agent profile: one Markdown file, in the format of Claude Code's subagents. */
export interface Agent {
  name: string;
  /** When to use it. */
  description: string;
  /** undefined = the model of the thread, or of the agent that delegates. */
  model: string | undefined;
  /** Qualified names; undefined = all tools of the thread. */
  tools: readonly string[] | undefined;
  /** The only tenants that may use it; undefined = all. */
  tenants: readonly string[] | undefined;
  /** Its system prompt. */
  instructions: string;
  /** Its path, as in diagnostics. */
  place: string;
}

/** Schema of the front matter. Unknown fields, e.g. those of other programs, are ignored. */
export const AgentFields = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'must be lower-case letters, digits and hyphens'),
  description: visibleText.min(1).max(4096),
  model: modelName,
  tools: toolNames,
  tenants: toolNames,
});
