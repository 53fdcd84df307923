import type { SDKMessage } from '@anthropic-ai/claude-agent-sdk';
import { cutText, type NewEvent } from '@harness/contracts';

/** An event of the conversation; `live` and `delivered` as in LeaseEvent. */
export interface SessionEvent extends NewEvent {
  /** The text is of an error and not of the model or a tool; not part of the stored event. */
  isFailure?: boolean;
  live?: boolean;
  delivered?: string;
}

/** The SDK prefixes the gateway's tools with it; events have the tools' own names. */
const prefix = 'mcp__harness__';
const toolNameOf = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);

/** Longest tool result in an event, characters; the model gets all of it. */
const maxResultChars = 10_000;

/** Converts a message of the Agent SDK to thread events; unknown kinds give none. */
export function eventsOf(message: SDKMessage): SessionEvent[] {
  switch (message.type) {
    case 'stream_event': {
      const { event } = message;
      if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') return [];
      return [{ type: 'agent.message_delta', text: event.delta.text, live: true }];
    }
    case 'assistant':
      return message.message.content.flatMap((block): SessionEvent[] => {
        if (block.type === 'text')
          return [{ type: 'agent.message', text: block.text, isFailure: message.error !== undefined }];
        if (block.type !== 'tool_use') return [];
        return [
          { type: 'agent.tool_use', toolUseId: block.id, name: toolNameOf(block.name), input: block.input },
        ];
      });
    case 'user': {
      const { content } = message.message;
      if (typeof content === 'string') return [];
      return content.flatMap((block): SessionEvent[] => {
        if (block.type !== 'tool_result') return [];
        const isError = block.is_error === true;
        const text = cutText(textOf(block.content), maxResultChars);
        const seen = isError ? {} : { delivered: block.tool_use_id };
        const result = { toolUseId: block.tool_use_id, isError, text, ...seen };
        return [{ type: 'agent.tool_result', ...result, isFailure: isError }];
      });
    }
    default:
      return [];
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : ''))
    .join('\n');
}
