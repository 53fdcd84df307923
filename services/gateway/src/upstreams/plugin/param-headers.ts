import { isObject } from '@harness/contracts';

/** What a header may hold as it is. */
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** MCP 2026-07-28: inputs that their schema repeats in a header (`x-mcp-header`), as `Mcp-Param-<name>`; undefined = none. */
export function paramHeadersOf(
  inputSchema: unknown,
  input: Record<string, unknown>,
): Record<string, string> | undefined {
  const properties = isObject(inputSchema) ? inputSchema.properties : undefined;
  if (!isObject(properties)) return undefined;
  const headers = Object.entries(properties).flatMap(([name, schema]): [string, string][] => {
    const header = isObject(schema) ? schema['x-mcp-header'] : undefined;
    const value = input[name];
    const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (typeof header !== 'string' || !/^[A-Za-z0-9-]+$/.test(header) || !isText) return [];
    const text = String(value);
    const encoded = plain.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
    return [[`Mcp-Param-${header}`, encoded]];
  });
  return headers.length === 0 ? undefined : Object.fromEntries(headers);
}
