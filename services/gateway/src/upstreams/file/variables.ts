/** Where the variables of a file come from. */
export interface VariableSources {
  env: Readonly<Record<string, string | undefined>>;
  /** Default values of VS Code's `inputs`, by id. */
  inputs: ReadonlyMap<string, string | undefined>;
}

const reference = /\$\{([^}]*)\}/g;
const name = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The variable that answers VS Code's `${input:id}`: a gateway has no user to ask. */
export const inputVariableOf = (id: string): string =>
  `HARNESS_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;

/**
 * Expands `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${input:id}` in every string of a JSON value. Throws an Error that names
 * each variable that is not set, without any value.
 */
export function expandVariables<T>(value: T, sources: VariableSources): T {
  const missing = new Set<string>();
  const expand = (node: unknown): unknown => {
    if (typeof node === 'string')
      return node.replace(reference, (whole, inner: string) => {
        const found = expansionOf(inner, sources);
        if ('value' in found) return found.value;
        missing.add(found.problem);
        return whole;
      });
    if (Array.isArray(node)) return node.map(expand);
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, expand(inner)]));
  };
  const expanded = expand(value);
  if (missing.size > 0) throw new Error([...missing].join('; '));
  return expanded as T;
}

function expansionOf(
  inner: string,
  { env, inputs }: VariableSources,
): { value: string } | { problem: string } {
  if (inner.startsWith('input:')) {
    const id = inner.slice('input:'.length);
    const value = env[inputVariableOf(id)] || inputs.get(id);
    return value === undefined
      ? { problem: `the input "${id}" has no value: set ${inputVariableOf(id)}` }
      : { value };
  }
  const [variable = '', ...rest] = inner.replace(/^env:/, '').split(':-');
  const fallback = rest.length > 0 ? rest.join(':-') : undefined;
  if (!name.test(variable)) return { problem: `\${${inner}} is not a variable that is known here` };
  const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
  // As in a shell, `:-` also replaces an empty value.
  if (fallback !== undefined) return { value: value || fallback };
  return value === undefined ? { problem: `the variable ${variable} is not set` } : { value };
}
