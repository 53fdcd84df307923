/** Reads the script and its progress from the messages of a request. */
import { type Block, type Message, toolResultContent } from './request.ts';
import { isContinuedBy } from './script.ts';

/** The part of the messages that is needed to execute a script. */
export interface Conversation {
  /** The texts that the user typed, oldest first. The last one is the script. */
  texts: string[];
  /** Number of tool uses since the script was sent, which is the progress of the script. */
  toolUses: number;
  /** The result of the last tool use. */
  toolResult: string;
  /** The tool for responses with a schema; undefined = not offered. */
  outputTool?: string | undefined;
}

/** Claude Code's tool for responses with a JSON Schema. */
const structuredOutput = 'StructuredOutput';

/**
 * Reads a conversation. A typed text is a block, not a message, because client libraries merge consecutive user messages
 * (a prompt that failed or was interrupted, and the next one) into one message with several text blocks.
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
  if (text === '' || isContinuedBy(conversation.texts.at(-1) ?? '', text)) return;
  conversation.texts.push(text);
  conversation.toolUses = 0;
  conversation.toolResult = '';
}

const blocksOf = (content: string | Block[]): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

/**
 * Reminders of Claude Code. They may start anywhere except in a quoted line: a quoted tag is quoted material and must not
 * remove the lines up to another quoted tag (e.g. a reviewer's `Result:`).
 */
const reminder = /<system-reminder>(?<=^(?!>).*<system-reminder>)[\s\S]*?<\/system-reminder>/gm;

/** Texts that Claude Code writes in the user's name: for an interrupted turn, and for a response of the wrong form. */
const interruption = /^\[Request interrupted by user[^\]\n]*\]$/gm;
const enforcement = /^\[structured-output-enforce\].*$/gm;
/** The text that Claude Code writes after a search for tools. */
const loaded = /^Tools? loaded\.$/gm;

/** The text that Claude Code writes for an image of a message. */
const imageSource = /^\[Image: source: [^\]\n]*\]$/gm;

const withoutReminders = (text: string): string => text.replace(reminder, '').trim();

const typedTextOf = (text: string): string =>
  [interruption, enforcement, loaded, imageSource]
    .reduce((rest, added) => rest.replace(added, ''), withoutReminders(text))
    .trim();

const toolResultOf = (block: Block): string =>
  withoutReminders(
    blocksOf(toolResultContent.parse(block.content))
      .map((part) => part.text ?? `[${part.type}]`)
      .join('\n'),
  );
