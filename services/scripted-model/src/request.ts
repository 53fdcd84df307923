/** Schemas of requests. */
import { z } from 'zod';

/**
 * The part of a Messages API request that is read here; everything else is ignored.
 * Source: https://docs.anthropic.com/en/api/messages; `role: "system"` inside `messages` is sent by Claude Code.
 */
const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  /** Of a tool_result; parsed by `toolResultContent`. */
  content: z.unknown().optional(),
});
const message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) });

/** Schema of a request. */
export const messagesRequest = z.looseObject({
  messages: z.array(message),
  stream: z.boolean().optional(),
  tools: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
});

/** Schema of a tool result's content; unknown shapes become ''. */
export const toolResultContent = z.union([z.string(), z.array(block)]).catch('');

/** A content block of a request. */
export type Block = z.output<typeof block>;
/** A message of a request. */
export type Message = z.output<typeof message>;
/** A parsed request. */
export type MessagesRequest = z.output<typeof messagesRequest>;
