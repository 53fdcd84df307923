import { resolve } from 'node:path';
import type { Diagnostic, PluginLogger } from '@harness/plugin-kit';
import { followTree } from './follow-tree.ts';

/** What people wrote into a folder, as it is now. */
export interface Followed<Item> {
  readonly loaded: readonly Item[];
  readonly diagnostics: readonly Diagnostic[];
  close(): Promise<void>;
}

export interface Written {
  name: string;
  /** Its folder or file; sources of diagnostics about it begin so. */
  place: string;
}

/** Long enough for a checkout of many files, short enough for "within a second". */
const settleMs = 300;
/** Where something is written all the time, it is read all the same. */
const maxSettleMs = 2_000;

export const emptyFolder: Followed<never> = { loaded: [], diagnostics: [], close: async () => undefined };

/**
 * Loads a folder, and again whenever something changes there. An item whose edit is broken stays as it was, and a
 * diagnostic says so; one that is gone is gone.
 */
export async function followFolder<Item extends Written>(deps: {
  directory: string;
  /** For people: `skills`. */
  what: string;
  logger: PluginLogger;
  load(directory: string): Promise<{ loaded: Item[]; diagnostics: Diagnostic[] }>;
  /** Awaited, one after the other. */
  onChanged(items: readonly Item[]): Promise<void> | void;
}): Promise<Followed<Item>> {
  const { what, logger } = deps;
  const directory = resolve(deps.directory);
  let loaded: readonly Item[] = [];
  let told: string | undefined;
  let diagnostics: readonly Diagnostic[] = [];
  let loading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let restlessSince: number | undefined;
  let closed = false;

  /** Items that were there, are broken now, and whose name no other took. */
  const keptOf = (now: { loaded: Item[]; diagnostics: Diagnostic[] }) => {
    const isBroken = (place: string) =>
      now.diagnostics.some(
        // Of the item, of one of its files, or of the whole folder.
        ({ level, source }) =>
          level === 'error' && (source === directory || source === place || source.startsWith(`${place}/`)),
      );
    return loaded.filter(
      (item) =>
        isBroken(item.place) &&
        !now.loaded.some((other) => other.name === item.name || other.place === item.place),
    );
  };
  const load = async () => {
    if (closed) return;
    await watching.aim();
    const now = await deps.load(directory);
    const kept = keptOf(now);
    const next = [...now.loaded, ...kept];
    loaded = next;
    diagnostics = [
      ...now.diagnostics,
      ...kept.map(({ name, place }) => ({
        source: place,
        level: 'warning' as const,
        message: `${place}: "${name}" stays as it was before the edit`,
      })),
    ];
    for (const { level, message } of now.diagnostics) logger[level === 'error' ? 'error' : 'warn'](message);
    const described = describe(loaded);
    if (described === told) return;
    logger.info({ [what]: loaded.length }, `${what} loaded`);
    await deps.onChanged(loaded);
    told = described;
  };
  /** One after another: an older state must not come after a newer one. */
  const reload = () => {
    loading = loading.then(load).catch((error) => logger.error({ err: error }, `${what} not loaded`));
    return loading;
  };

  const watching = followTree(directory, {
    onEvent() {
      restlessSince ??= performance.now();
      const leftMs = restlessSince + maxSettleMs - performance.now();
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          restlessSince = undefined;
          void reload();
        },
        Math.min(settleMs, Math.max(0, leftMs)),
      );
    },
    onError: (error) => logger.error({ err: error }, `${what} are not watched`),
  });
  await reload();

  return {
    get loaded() {
      return loaded;
    },
    get diagnostics() {
      return diagnostics;
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await loading;
      await watching.close();
    },
  };
}

/** What callers see of them. */
const describe = (items: readonly Written[]) => JSON.stringify(items);
