/** Parses what handlers return, and makes results of failures. */
import { AppError, type ErrorBody } from '@harness/contracts';
import { z } from 'zod';
import type { ToolResult } from '../contract/contract.ts';
import { textOf } from '../text-of.ts';

const Binary = { data: z.string(), mimeType: z.string() };
const Resource = z.looseObject({ uri: z.string() });
/** Schema of `EmbeddedResource`. */
export const ResourceContents = z.union([
  Resource.extend({ text: z.string() }),
  Resource.extend({ blob: z.string() }),
]);
/** Schema of `ContentBlock`. Keeps further fields (annotations, `_meta`). */
export const ContentBlock = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), ...Binary }),
  z.looseObject({ type: z.literal('audio'), ...Binary }),
  z.looseObject({ type: z.literal('resource_link'), uri: z.string(), name: z.string() }),
  z.looseObject({
    type: z.literal('resource'),
    resource: ResourceContents,
  }),
]);
const Shape = z.object({
  content: z.array(ContentBlock),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Converts a handler's return value to a result; removes unknown fields of the result. Throws `tool_failed` for anything
 * but a string or a ToolResult.
 */
export function parseToolResult(returned: unknown): ToolResult {
  if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] };
  const shape = Shape.safeParse(returned);
  if (shape.success) return shape.data as ToolResult;
  const [issue] = shape.error.issues;
  const where = issue && issue.path.length > 0 ? ` (${issue.path.join('.')}: ${issue.message})` : '';
  throw new AppError('tool_failed', `The tool returned neither a string nor a tool result${where}.`);
}

/** Makes the result of a failed call: a text for the model, and the error code in `_meta` for programs. */
export function failedResultOf(thrown: unknown): ToolResult {
  const error: ErrorBody =
    thrown instanceof AppError ? thrown.toBody() : { code: 'tool_failed', message: textOf(thrown) };
  return {
    content: [{ type: 'text', text: error.message }],
    isError: true,
    _meta: { 'harness/error': error },
  };
}
