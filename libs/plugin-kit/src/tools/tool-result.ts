import { AppError, type ErrorBody } from '@harness/contracts';
import { z } from 'zod';
import type { ToolResult } from '../contract/contract.ts';
import { textOf } from '../text-of.ts';

const Binary = { data: z.string(), mimeType: z.string() };
const Resource = z.looseObject({ uri: z.string() });
export const ResourceContents = z.union([
  Resource.extend({ text: z.string() }),
  Resource.extend({ blob: z.string() }),
]);
/** Further fields (annotations, `_meta`) stay. */
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
 * What a handler returned, as a result, without fields that a result has not. Throws `tool_failed` for anything but a
 * string or a ToolResult.
 */
export function parseToolResult(returned: unknown): ToolResult {
  if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] };
  const shape = Shape.safeParse(returned);
  if (shape.success) return shape.data as ToolResult;
  const [issue] = shape.error.issues;
  const where = issue && issue.path.length > 0 ? ` (${issue.path.join('.')}: ${issue.message})` : '';
  throw new AppError('tool_failed', `The tool returned neither a string nor a tool result${where}.`);
}

/** A failure as the caller of a tool gets it: text for the model, the code for programs. */
export function failedResultOf(thrown: unknown): ToolResult {
  const error: ErrorBody =
    thrown instanceof AppError ? thrown.toBody() : { code: 'tool_failed', message: textOf(thrown) };
  return {
    content: [{ type: 'text', text: error.message }],
    isError: true,
    _meta: { 'harness/error': error },
  };
}
