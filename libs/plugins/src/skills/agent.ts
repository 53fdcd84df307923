import { z } from 'zod';
import { modelName, toolNames, visibleText } from './skill.ts';

/** A named profile of an agent: one Markdown file, in the format of Claude Code's subagents. */
export interface Agent {
  name: string;
  /** When to use it. */
  description: string;
  /** undefined = as the thread, or as the one who delegates. */
  model: string | undefined;
  /** Qualified names; undefined = all of the thread. */
  tools: readonly string[] | undefined;
  /** Its system prompt. */
  instructions: string;
  /** As diagnostics name it. */
  place: string;
}

/** Unknown fields are others' business. */
export const AgentFields = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'must be lower-case letters, digits and hyphens'),
  description: visibleText.min(1).max(4096),
  model: modelName,
  tools: toolNames,
});
