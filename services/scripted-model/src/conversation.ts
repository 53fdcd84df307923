import { type Block, type Message, toolResultContent } from './request.ts';
import { goesOn } from './script.ts';

/** What a script's player needs to know of the messages it was sent. */
export interface Conversation {
  /** Everything typed by the user, oldest first. The last one is the script. */
  texts: string[];
  /** Tools used since the script came: how far it has been played. */
  toolUses: number;
  /** What the last of these tools answered. */
  toolResult: string;
  /** The tool by which an answer is given in a form that the caller has set; undefined = none was offered. */
  outputTool?: string | undefined;
}

/** Claude Code's tool for answers by a JSON Schema. */
const structuredOutput = 'StructuredOutput';

/**
 * A client library merges user messages that follow each other (a prompt that failed or was interrupted, and the
 * next) into one message of several text blocks: so a typed text is a block, not a message.
 */
export function readConversation(messages: Message[], tools: readonly string[] = []): Conversation {
  const outputTool = tools.find((name) => name === structuredOutput);
  const conversation: Conversation = {
    texts: [],
    toolUses: 0,
    toolResult: '',
    ...(outputTool && { outputTool }),
  };
  for (const { role, content } of messages) {
    for (const block of blocksOf(content)) readBlock(conversation, role, block);
  }
  return conversation;
}

function readBlock(conversation: Conversation, role: string, block: Block): void {
  if (role === 'assistant' && block.type === 'tool_use') conversation.toolUses += 1;
  if (role !== 'user') return;
  if (block.type === 'tool_result') conversation.toolResult = toolResultOf(block);
  if (block.type !== 'text') return;
  const text = typedTextOf(block.text ?? '');
  if (text === '' || goesOn(conversation.texts.at(-1) ?? '', text)) return;
  conversation.texts.push(text);
  conversation.toolUses = 0;
  conversation.toolResult = '';
}

const blocksOf = (content: string | Block[]): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

/**
 * A reminder may open anywhere but in a quoted line: a quoted tag is foreign text, and must not swallow the lines
 * between it and another quoted tag (a reviewer's `Result:`, say).
 */
const reminder = /<system-reminder>(?<=^(?!>).*<system-reminder>)[\s\S]*?<\/system-reminder>/gm;

/** What Claude Code writes in the user's name: when a turn is interrupted, and when an answer is not in the form asked for. */
const interruption = /^\[Request interrupted by user[^\]\n]*\]$/gm;
const enforcement = /^\[structured-output-enforce\].*$/gm;

const withoutReminders = (text: string): string => text.replace(reminder, '').trim();

const typedTextOf = (text: string): string =>
  withoutReminders(text).replace(interruption, '').replace(enforcement, '').trim();

const toolResultOf = (block: Block): string =>
  withoutReminders(
    blocksOf(toolResultContent.parse(block.content))
      .map((part) => part.text ?? `[${part.type}]`)
      .join('\n'),
  );
