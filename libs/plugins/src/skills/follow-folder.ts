/** Loads the items of a folder (skills or agents), and reloads them after changes. */
import { resolve } from 'node:path';
import type { Diagnostic, PluginLogger } from '@harness/plugin-kit';
import { followTree } from './follow-tree.ts';

/** The current content of a folder. */
export interface Followed<Item> {
  readonly loaded: readonly Item[];
  readonly diagnostics: readonly Diagnostic[];
  close(): Promise<void>;
}

/** An item of a folder. */
export interface Written {
  name: string;
  /** Its folder or file. The source of every diagnostic about it begins with this. */
  place: string;
}

/** Quiet time before a reload: enough for a checkout of many files, and an edit is still loaded within a second. */
const settleMs = 300;
/** With constant writes, a reload happens after this time. */
const maxSettleMs = 2_000;

/** Most diagnostics that are logged one by one. */
const maxLogged = 5;

/** The result without a folder. */
export const emptyFolder: Followed<never> = { loaded: [], diagnostics: [], close: async () => undefined };

/**
 * Loads a folder, and reloads it after every change. An item with a broken edit keeps its previous version, with a
 * diagnostic. A deleted item is removed.
 */
export async function followFolder<Item extends Written>(deps: {
  directory: string;
  /** Plural noun for messages: `skills`. */
  what: string;
  logger: PluginLogger;
  load(directory: string): Promise<{ loaded: Item[]; diagnostics: Diagnostic[] }>;
  /** Called at the start and after each change, one call at a time. */
  onChanged(items: readonly Item[]): Promise<void> | void;
}): Promise<Followed<Item>> {
  const { what, logger } = deps;
  const directory = resolve(deps.directory);
  let loaded: readonly Item[] = [];
  let reported: string | undefined;
  let diagnostics: readonly Diagnostic[] = [];
  let loading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let restlessSince: number | undefined;
  let closed = false;

  const logNew = createNewsLog(logger, what);
  const load = async () => {
    if (closed) return;
    await watching.aim();
    const now = await deps.load(directory);
    const kept = keptOf(loaded, now, directory);
    const next = [...now.loaded, ...kept];
    loaded = next;
    diagnostics = [
      ...now.diagnostics,
      ...kept.map(({ name, place }) => ({
        source: place,
        level: 'warning' as const,
        message: `${place}: "${name}" has errors, so its previous version stays in use`,
      })),
    ];
    logNew(now.diagnostics);
    const described = describe(loaded);
    if (described === reported) return;
    logger.info({ [what]: loaded.length }, `${what} loaded`);
    await deps.onChanged(loaded);
    reported = described;
  };
  /** Loads run one at a time, so that an older state cannot replace a newer one. */
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

/** Earlier items that are broken now, and whose name no other item has taken. */
function keptOf<Item extends Written>(
  before: readonly Item[],
  now: { loaded: readonly Item[]; diagnostics: readonly Diagnostic[] },
  directory: string,
): Item[] {
  const isBroken = (place: string) =>
    now.diagnostics.some(
      // The problem is in the item, in one of its files, or in the whole folder.
      ({ level, source }) =>
        level === 'error' && (source === directory || source === place || source.startsWith(`${place}/`)),
    );
  return before.filter(
    (item) =>
      isBroken(item.place) &&
      !now.loaded.some((other) => other.name === item.name || other.place === item.place),
  );
}

/** Creates the log of diagnostics that the previous load did not have: a few one by one, many as a summary. */
function createNewsLog(logger: PluginLogger, what: string) {
  let logged = new Set<string>();
  return (all: readonly Diagnostic[]): void => {
    const news = all.filter(({ message }) => !logged.has(message));
    logged = new Set(all.map(({ message }) => message));
    if (news.length > maxLogged) {
      const errors = news.filter(({ level }) => level === 'error').length;
      const warnings = news.length - errors;
      logger[errors > 0 ? 'error' : 'warn'](
        { errors, warnings, first: news[0]?.message },
        `${what}: ${errors} errors and ${warnings} warnings; GET /v1/${what} lists them`,
      );
    } else for (const { level, message } of news) logger[level === 'error' ? 'error' : 'warn'](message);
  };
}

/** A text that changes whenever an item changes. */
const describe = (items: readonly Written[]) => JSON.stringify(items);
