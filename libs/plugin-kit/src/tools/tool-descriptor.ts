import type { JsonSchema, ToolAnnotations } from '../contract/contract.ts';
import type { CollectedTool } from '../host/collect.ts';

/** What a client sees of a tool; `name` is the qualified one. */
export interface ToolDescriptor {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
}

/** Frozen, and apart from the plugin's own objects: what is listed stays what is enforced. */
export function descriptorOf(tool: CollectedTool): ToolDescriptor {
  const { title, outputSchema, annotations, idempotent } = tool;
  const hints = { ...(idempotent === undefined ? {} : { idempotentHint: idempotent }), ...annotations };
  return Object.freeze({
    name: tool.qualifiedName,
    ...(title === undefined ? {} : { title }),
    description: tool.description,
    inputSchema: frozenSchemaOf(tool.schema),
    ...(outputSchema === undefined ? {} : { outputSchema: frozenSchemaOf(outputSchema) }),
    ...(Object.keys(hints).length === 0 ? {} : { annotations: Object.freeze(hints) }),
  });
}

/** Unchanged, but for `type: 'object'` where the author left it out: MCP clients refuse a schema without it. */
function frozenSchemaOf(schema: JsonSchema): JsonSchema {
  const copy = JSON.parse(JSON.stringify(schema), (_key, value) => Object.freeze(value));
  return copy.type === undefined ? Object.freeze({ type: 'object', ...copy }) : copy;
}
