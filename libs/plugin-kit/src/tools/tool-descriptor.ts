import type { JsonSchema, ToolAnnotations } from '../contract/contract.ts';
import type { CollectedTool } from '../host/collect.ts';

/** A tool as clients see it; `name` is the qualified name. */
export interface ToolDescriptor {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
  /** Fields of forwarded tools, such as `icons` and `_meta`. */
  readonly [further: string]: unknown;
}

/** Makes a frozen copy, so that the plugin cannot change what is listed and enforced. */
export function descriptorOf(tool: CollectedTool): ToolDescriptor {
  const { title, outputSchema, annotations, idempotent } = tool;
  const { description, extra } = tool;
  const hints = { ...(idempotent === undefined ? {} : { idempotentHint: idempotent }), ...annotations };
  return Object.freeze({
    name: tool.qualifiedName,
    ...(title === undefined ? {} : { title }),
    // Tools of upstreams may lack a description.
    ...(tool.isForwarded && description === '' ? {} : { description }),
    inputSchema: frozenSchemaOf(tool.schema),
    ...(outputSchema === undefined ? {} : { outputSchema: frozenSchemaOf(outputSchema) }),
    ...(Object.keys(hints).length === 0 ? {} : { annotations: Object.freeze(hints) }),
    ...extra,
  } as ToolDescriptor);
}

/** Copies a schema. Adds a missing `type: 'object'`, because MCP clients refuse a schema without it. */
function frozenSchemaOf(schema: JsonSchema): JsonSchema {
  const copy = JSON.parse(JSON.stringify(schema), (_key, value) => Object.freeze(value));
  return copy.type === undefined ? Object.freeze({ type: 'object', ...copy }) : copy;
}
