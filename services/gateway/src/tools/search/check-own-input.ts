import type { AppError } from '@harness/contracts';
import { createSchemaCompiler, inputError, type SchemaCheck, type ToolDescriptor } from '@harness/plugin-kit';

/**
 * Returns the function that checks the input of the gateway's own tools against their schemas, each of which is compiled once, at its
 * first call. It returns `invalid_tool_input`, as the tool server does for all others; undefined for input that is valid.
 */
export function createOwnInputCheck(
  own: readonly ToolDescriptor[],
): (name: string, input: unknown) => AppError | undefined {
  const schemas = new Map(own.map(({ name, inputSchema }) => [name, inputSchema]));
  const compiler = createSchemaCompiler();
  const checks = new Map<string, SchemaCheck>();
  return (name, input = {}) => {
    const schema = schemas.get(name);
    if (!schema) return undefined;
    const check = checks.get(name) ?? compiler.compile(schema);
    checks.set(name, check);
    const errors = check(input);
    return errors.length === 0 ? undefined : inputError(`The input of ${name}`, errors);
  };
}
