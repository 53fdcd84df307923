/** What a tool may answer. A model's context and everybody's memory pay for more; what is cut is said to be. */
import { AppError, cutText, isDeeperThan } from '@harness/contracts';
import type { ContentBlock, ToolResult } from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { cleanJsonTextOf, cleanText, isClean } from './clean-text.ts';
import { failedResultOf } from './tool-result.ts';

export interface ResultLimits {
  /** Content blocks; like the bytes, without those that say what was cut. */
  maxBlocks: number;
  /** Bytes in all: `structuredContent` first, then the blocks in their order. */
  maxBytes: number;
  /** Levels of `structuredContent`. */
  maxDepth: number;
}

export const defaultResultLimits: ResultLimits = { maxBlocks: 100, maxBytes: 1024 ** 2, maxDepth: 64 };

/**
 * A copy of the result within its limits, its text clean of what nobody sees. Half a `structuredContent` would be
 * another answer: too large a one makes the result a failure, `tool_failed`.
 */
export function boundResult(result: ToolResult, limits: ResultLimits = defaultResultLimits): ToolResult {
  if (isPlain(result, limits)) return result;
  try {
    const { content, structuredContent, isError, _meta } = result;
    const structured = structuredContent && structuredTextOf(structuredContent, limits);
    const meta = _meta && metaTextOf(_meta);
    const left = limits.maxBytes - Buffer.byteLength(structured ?? '');
    return {
      ...(isError === undefined ? {} : { isError }),
      content: boundContent(content, limits.maxBlocks, left),
      ...(structured && { structuredContent: JSON.parse(structured) }),
      ...(meta && { _meta: JSON.parse(meta) }),
    };
  } catch (thrown) {
    return failedResultOf(thrown);
  }
}

/** The everyday result, which needs no copy: a few small texts, and nothing in them to take out. */
function isPlain({ content, structuredContent, _meta }: ToolResult, limits: ResultLimits): boolean {
  if (structuredContent || _meta || content.length > limits.maxBlocks) return false;
  let left = limits.maxBytes;
  return content.every((block) => {
    if (block.type !== 'text' || Object.keys(block).length > plainFields) return false;
    left -= maxUtf8Bytes * block.text.length;
    return left >= 0 && isClean(block.text);
  });
}

/** `type` and `text`. */
const plainFields = 2;
/** Of one UTF-16 unit. */
const maxUtf8Bytes = 3;

function structuredTextOf(structured: Record<string, unknown>, { maxBytes, maxDepth }: ResultLimits): string {
  if (isDeeperThan(maxDepth, structured)) {
    throw new AppError(
      'tool_failed',
      `The tool's structured result is nested deeper than ${maxDepth} levels.`,
    );
  }
  const text = jsonTextOf(structured);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  const message = `The tool's structured result has ${told(bytes)} bytes; at most ${told(maxBytes)} are passed on. Ask it for less.`;
  throw new AppError('tool_failed', message);
}

/** Bytes of `_meta`, which no model reads. */
const maxMetaBytes = 64 * 1024;

function metaTextOf(meta: Record<string, unknown>): string {
  const text = jsonTextOf(meta);
  if (Buffer.byteLength(text) <= maxMetaBytes) return text;
  const { 'harness/error': error } = meta as { 'harness/error'?: { code: string; message: string } };
  const message = error && cut(cleanText(error.message), maxMetaBytes / 2).text;
  return JSON.stringify(error ? { 'harness/error': { code: error.code, message } } : {});
}

function jsonTextOf(value: unknown): string {
  try {
    return cleanJsonTextOf(value);
  } catch (thrown) {
    throw new AppError('tool_failed', `The tool's result is not JSON: ${textOf(thrown)}`);
  }
}

function boundContent(content: readonly ContentBlock[], maxBlocks: number, maxBytes: number): ContentBlock[] {
  let left = maxBytes;
  const fitted = content.slice(0, maxBlocks).flatMap((block) => {
    const fitting = fitBlock(block, left);
    left -= fitting.bytes;
    return fitting.blocks;
  });
  const hidden = content.length - maxBlocks;
  if (hidden <= 0) return fitted;
  return [...fitted, marker(`${told(hidden)} of ${told(content.length)} content blocks were left out`)];
}

interface Fitting {
  blocks: ContentBlock[];
  bytes: number;
}

function fitBlock(block: ContentBlock, left: number): Fitting {
  if (block.type === 'text') return fitText(block, left);
  const total = bytesOf(block);
  const text = total > left ? '' : jsonTextOf(block);
  // JSON has more bytes than the data: escapes and names.
  if (text && Buffer.byteLength(text) <= left) {
    return { blocks: [JSON.parse(text)], bytes: Buffer.byteLength(text) };
  }
  const type =
    'mimeType' in block && block.mimeType ? ` of type ${cutText(cleanText(block.mimeType), 100)}` : '';
  return {
    blocks: [marker(`a block of ${block.type}${type} was left out: it has ${told(total)} bytes`)],
    bytes: 0,
  };
}

/** Of the largest part alone, so that nothing large is written to learn that it is too large. */
function bytesOf(block: Exclude<ContentBlock, { type: 'text' }>): number {
  if ('data' in block) return block.data.length;
  if (block.type !== 'resource') return Buffer.byteLength(block.uri);
  return 'blob' in block.resource ? block.resource.blob.length : Buffer.byteLength(block.resource.text);
}

function fitText({ text, ...rest }: ContentBlock & { type: 'text' }, left: number): Fitting {
  const total = Buffer.byteLength(text);
  const around = jsonTextOf(rest);
  const aroundBytes = Object.keys(rest).length > 1 ? Buffer.byteLength(around) : 0;
  const room = Math.max(0, left - aroundBytes);
  const kept = cut(cleanText(beginningOf(text, room)), room);
  const block = { ...JSON.parse(around), text: kept.text };
  const isWhole = text.length <= room && !kept.isCut && aroundBytes <= left;
  if (isWhole) return { blocks: [block], bytes: aroundBytes + kept.bytes };
  const missing = marker(`the text was cut after ${told(kept.bytes)} of ${told(total)} bytes`);
  return { blocks: kept.text === '' ? [missing] : [block, missing], bytes: left };
}

/** No more is read than can be kept, for a character has at least one byte; and none of two halves is halved. */
const beginningOf = (text: string, maxLength: number) => cutText(text, maxLength);

/** The longest beginning of so many bytes that ends at a character's border. */
function cut(text: string, maxBytes: number): { text: string; bytes: number; isCut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { text, bytes: bytes.length, isCut: false };
  let end = maxBytes;
  // 10xxxxxx goes on with a character that began before.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.toString('utf8', 0, end), bytes: end, isCut: true };
}

const told = (count: number) => count.toLocaleString('en-US');
const marker = (text: string): ContentBlock => ({ type: 'text', text: `[harness: ${text}]` });
