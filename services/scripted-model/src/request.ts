import { z } from 'zod';

/**
 * The part of a Messages API request that is read here; everything else may be there and is ignored.
 * Source: https://docs.anthropic.com/en/api/messages; `role: "system"` inside `messages` is sent by Claude Code.
 */
const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  /** Only of a tool_result; its blocks are read as leniently as these. */
  content: z.unknown().optional(),
});
const message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) });

export const messagesRequest = z.looseObject({
  messages: z.array(message),
  stream: z.boolean().optional(),
  tools: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
});

export const toolResultContent = z.union([z.string(), z.array(block)]).catch('');

export type Block = z.output<typeof block>;
export type Message = z.output<typeof message>;
export type MessagesRequest = z.output<typeof messagesRequest>;
