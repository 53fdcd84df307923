import type { Diagnostic, PluginLogger } from '@harness/plugin-kit';
import { watch } from 'chokidar';

/** What people wrote into a folder, as it is now. */
export interface Followed<Item> {
  readonly loaded: readonly Item[];
  readonly diagnostics: readonly Diagnostic[];
  close(): Promise<void>;
}

export interface Written {
  name: string;
}

/** Long enough for a checkout of many files, short enough for "within a second". */
const settleMs = 300;

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
  /** Where an item was read: its folder, or its file. */
  placeOf(item: Item): string;
  /** Awaited, one after the other. */
  onChanged(items: readonly Item[]): Promise<void> | void;
}): Promise<Followed<Item>> {
  const { directory, what, logger, placeOf } = deps;
  let loaded: readonly Item[] = [];
  let told: string | undefined;
  let diagnostics: readonly Diagnostic[] = [];
  let loading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  /** Items that were there, are broken now, and whose name no other took. */
  const keptOf = (now: { loaded: Item[]; diagnostics: Diagnostic[] }) => {
    const isBroken = (place: string) =>
      now.diagnostics.some(
        ({ level, source }) => level === 'error' && (source === place || source.startsWith(`${place}/`)),
      );
    return loaded.filter(
      (item) =>
        isBroken(placeOf(item)) &&
        !now.loaded.some((other) => other.name === item.name || placeOf(other) === placeOf(item)),
    );
  };
  const load = async () => {
    const now = await deps.load(directory);
    const kept = keptOf(now);
    const next = [...now.loaded, ...kept];
    loaded = next;
    diagnostics = [
      ...now.diagnostics,
      ...kept.map((item) => ({
        source: placeOf(item),
        level: 'warning' as const,
        message: `${placeOf(item)}: "${item.name}" stays as it was before the edit`,
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

  const watcher = watch(directory, { ignoreInitial: true, followSymlinks: false });
  watcher.on('all', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void reload(), settleMs);
  });
  watcher.on('error', (error) => logger.error({ err: error }, `${what} are not watched`));
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()));
  await reload();

  return {
    get loaded() {
      return loaded;
    },
    get diagnostics() {
      return diagnostics;
    },
    async close() {
      clearTimeout(timer);
      await watcher.close();
      await loading;
    },
  };
}

/** What callers see of them. */
const describe = (items: readonly Written[]) => JSON.stringify(items);
