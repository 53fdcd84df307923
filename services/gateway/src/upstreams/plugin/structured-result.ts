import { isObject } from '@harness/contracts';
import type { ContentBlock, JsonSchema } from '@harness/plugin-kit';

/**
 * Structured content that is no object, as MCP 2026-07-28 allows, is the field `result` of one here: the versions before, REST and
 * models know objects alone. Its schema changes in the same way.
 */
const field = 'result';

/** Whether the results of a tool with this output schema are put into an object, whatever they are. */
const isWrapped = (outputSchema: unknown) => isObject(outputSchema) && outputSchema.type !== 'object';

/** The output schema as it is shown; undefined for none. */
export function shownOutputSchema(outputSchema: unknown): JsonSchema | undefined {
  if (!isObject(outputSchema)) return undefined;
  if (!isWrapped(outputSchema)) return outputSchema;
  const { $schema, $defs, definitions, ...inner } = outputSchema;
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { [field]: inner },
    required: [field],
    // References name these from the root.
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
  };
}

/** The structured content of a result as it is shown; a value that only it has is also a text, for those that read texts alone. */
export function shownResult(
  { structuredContent: value, content }: { structuredContent: unknown; content: ContentBlock[] },
  outputSchema: unknown,
): { content: ContentBlock[]; structuredContent?: Record<string, unknown> } {
  if (value === undefined || (value === null && !isWrapped(outputSchema))) return { content };
  if (isObject(value) && !isWrapped(outputSchema)) return { content, structuredContent: value };
  const text: ContentBlock[] = content.length > 0 ? [] : [{ type: 'text', text: JSON.stringify(value) }];
  return { content: [...content, ...text], structuredContent: { [field]: value } };
}
