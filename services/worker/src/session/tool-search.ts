import type { Dispatch } from '@harness/dispatch';

/** Above this, tools are loaded when they are needed: more would fill the model's context. */
const someTools = 50;

/**
 * Whether a session has so many tools that it should search for them. A list of names is as long as it is; a wildcard may stand for
 * all. Undefined = no. Throws `unavailable`.
 */
export async function searchesFor(
  tools: readonly string[] | undefined,
  { listedTools }: Pick<Dispatch, 'listedTools'>,
): Promise<true | undefined> {
  if (tools && tools.length <= someTools && !tools.some((name) => name.endsWith('*'))) return undefined;
  return (await listedTools.get()) > someTools ? true : undefined;
}
