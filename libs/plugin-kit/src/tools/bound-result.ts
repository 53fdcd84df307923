/** Bounds the size of a tool result, because it fills a model's context and memory. A marker reports every cut. */
import { AppError, cleanJsonTextOf, cleanText, cutText, isClean, isDeeperThan } from '@harness/contracts';
import type { ContentBlock, ToolResult } from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { failedResultOf } from './tool-result.ts';

/** Limits of a tool result. Markers of cuts are not counted. */
export interface ResultLimits {
  /** Number of content blocks. */
  maxBlocks: number;
  /** Total bytes: `structuredContent` first, then the blocks in order. */
  maxBytes: number;
  /** Levels of nesting in `structuredContent`. */
  maxDepth: number;
}

/** The limits of the tool server. */
export const defaultResultLimits: ResultLimits = { maxBlocks: 100, maxBytes: 1024 ** 2, maxDepth: 64 };

/**
 * Returns the result within its limits, with clean text. A `structuredContent` that is too large makes the result a
 * failure (`tool_failed`), because half of it would be a different result. Never throws.
 */
export function boundResult(result: ToolResult, limits: ResultLimits = defaultResultLimits): ToolResult {
  if (isPlain(result, limits)) return result;
  try {
    const { content, structuredContent, isError, _meta } = result;
    const structured = structuredContent && boundedJsonOf('structured result', structuredContent, limits);
    const meta = _meta && metaTextOf(_meta);
    const left = limits.maxBytes - Buffer.byteLength(structured ?? '');
    return {
      ...(isError === undefined ? {} : { isError }),
      content: boundContent(content, limits.maxBlocks, left),
      ...(structured && { structuredContent: JSON.parse(structured) }),
      ...(meta && { _meta: JSON.parse(meta) }),
    };
  } catch (thrown) {
    return boundResult(failedResultOf(thrown), limits); // its message may quote the plugin
  }
}

/** Fast path: true for a usual result, a few small texts with nothing to clean, which needs no copy. */
function isPlain({ content, structuredContent, _meta }: ToolResult, limits: ResultLimits): boolean {
  if (structuredContent || _meta || content.length > limits.maxBlocks) return false;
  let left = limits.maxBytes;
  return content.every((block) => {
    if (block.type !== 'text' || Object.keys(block).length > plainFields) return false;
    left -= maxUtf8Bytes * block.text.length;
    return left >= 0 && isClean(block.text);
  });
}

/** A plain text block has only `type` and `text`. */
const plainFields = 2;
/** UTF-8 bytes of one UTF-16 code unit. */
const maxUtf8Bytes = 3;

/** A part of what a tool returned as JSON with clean text. Throws `tool_failed` if it is too large; `what` names it. */
export function boundedJsonOf(
  what: string,
  value: object,
  { maxBytes, maxDepth }: ResultLimits = defaultResultLimits,
): string {
  if (isDeeperThan(maxDepth, value)) {
    throw new AppError('tool_failed', `The tool's ${what} is nested deeper than ${maxDepth} levels.`);
  }
  const text = jsonTextOf(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  const message = `The tool's ${what} has ${grouped(bytes)} bytes; at most ${grouped(maxBytes)} are allowed. Ask the tool for less.`;
  throw new AppError('tool_failed', message);
}

/** Limit of `_meta`, which no model reads. */
const maxMetaBytes = 64 * 1024;
const maxCodeBytes = 100;

function metaTextOf(meta: Record<string, unknown>): string {
  const text = jsonTextOf(meta);
  if (Buffer.byteLength(text) <= maxMetaBytes) return text;
  const { 'harness/error': error } = meta as { 'harness/error'?: { code: string; message: string } };
  if (!error) return '{}';
  const kept = (value: string, maxBytes: number) => cut(cleanText(value), maxBytes).text;
  const code = kept(error.code, maxCodeBytes);
  return JSON.stringify({ 'harness/error': { code, message: kept(error.message, maxMetaBytes / 2) } });
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
  return [...fitted, marker(`${grouped(hidden)} of ${grouped(content.length)} content blocks were left out`)];
}

interface Fitting {
  blocks: ContentBlock[];
  bytes: number;
}

function fitBlock(block: ContentBlock, left: number): Fitting {
  if (block.type === 'text') return fitText(block, left);
  const total = bytesOf(block);
  const text = total > left ? '' : jsonTextOf(block);
  // The JSON text is larger than the data, by its escapes and names.
  if (text && Buffer.byteLength(text) <= left) {
    return { blocks: [JSON.parse(text)], bytes: Buffer.byteLength(text) };
  }
  const type =
    'mimeType' in block && block.mimeType ? ` of type ${cutText(cleanText(block.mimeType), 100)}` : '';
  return {
    blocks: [marker(`a block of ${block.type}${type} was left out: it has ${grouped(total)} bytes`)],
    bytes: 0,
  };
}

/** Size of the block's largest part, so that a large block is not serialized only to be refused. */
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
  const missing = marker(`the text was cut after ${grouped(kept.bytes)} of ${grouped(total)} bytes`);
  return { blocks: kept.text === '' ? [missing] : [block, missing], bytes: left };
}

/** Avoids work on text that cannot be kept: a character has at least one byte. Does not split a surrogate pair. */
const beginningOf = (text: string, maxLength: number) => cutText(text, maxLength);

/** The longest prefix of at most `maxBytes` bytes that ends at a character boundary. */
function cut(text: string, maxBytes: number): { text: string; bytes: number; isCut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { text, bytes: bytes.length, isCut: false };
  let end = maxBytes;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.toString('utf8', 0, end), bytes: end, isCut: true };
}

const grouped = (count: number) => count.toLocaleString('en-US');
const marker = (text: string): ContentBlock => ({ type: 'text', text: `[harness: ${text}]` });
