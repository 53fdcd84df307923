import type { Dispatch } from '@harness/dispatch';

/** With more tools than this, a session loads them when it needs them: all would fill the model's context. */
const someTools = 50;

/**
 * Whether a session may have so many tools that it should search for them: its list is long, has a wildcard or is absent, and
 * gateways offer many. Undefined = no. Throws `unavailable`.
 */
export async function searchesFor(
  tools: readonly string[] | undefined,
  { listedTools }: Pick<Dispatch, 'listedTools'>,
): Promise<true | undefined> {
  if (tools && tools.length <= someTools && !tools.some((name) => name.endsWith('*'))) return undefined;
  return (await listedTools.get()) > someTools ? true : undefined;
}
