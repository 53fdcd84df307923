import { isObject } from '@harness/contracts';

/** Keys of `_meta` that mean something at the upstream alone, or that clients would take for this gateway's own. */
const reserved = new Set([
  'io.modelcontextprotocol/related-task',
  'io.modelcontextprotocol/serverInfo',
  'anthropic/alwaysLoad',
]);
const isReserved = (key: string) => key.startsWith('harness/') || reserved.has(key);

/** What an upstream sent, without keys of its `_meta` that only this gateway may set. */
export function withForeignMeta<T>(item: T): T {
  if (!isObject(item) || !isObject(item._meta)) return item;
  const entries = Object.entries(item._meta).filter(([key]) => !isReserved(key));
  const { _meta, ...rest } = item;
  return (entries.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(entries) }) as T;
}

/** The same for a content block and the resource in it. */
export function contentWithForeignMeta<T>(block: T): T {
  const clean = withForeignMeta(block);
  return isObject(clean) && isObject(clean.resource)
    ? ({ ...clean, resource: withForeignMeta(clean.resource) } as T)
    : clean;
}
