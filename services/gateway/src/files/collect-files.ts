import type { Dispatch } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { FileStore } from '@harness/workspaces';

/** The interval of garbage collection, and how long files are kept that no thread refers to, ms. */
export interface Collecting {
  everyMs: number;
  graceMs: number;
}

const hour = 3_600_000;
/** Once an hour; kept for a day. */
export const defaultCollecting: Collecting = { everyMs: hour, graceMs: 24 * hour };

interface CollectDeps {
  dispatch: Pick<Dispatch, 'files' | 'replicas'>;
  store: FileStore;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/**
 * Periodically deletes files that nothing refers to, at one gateway of the fleet. Returns the function that ends
 * this.
 */
export function startCollectingFiles(
  { dispatch, store, logger }: CollectDeps,
  { everyMs, graceMs }: Collecting = defaultCollecting,
): () => void {
  let isRunning = false;
  const run = async () => {
    if (!(await dispatch.replicas.isFirst())) return;
    await collectFiles({ dispatch, store, logger }, graceMs);
  };
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    void run()
      .catch((error) => logger.warn({ err: error }, 'files: garbage was not collected; tried again later'))
      .finally(() => {
        isRunning = false;
      });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Collects once, for all tenants. Logs an error and deletes nothing if the folder belongs to other data than Redis's. */
export async function collectFiles(
  { dispatch, store, logger }: Omit<CollectDeps, 'dispatch'> & { dispatch: Pick<Dispatch, 'files'> },
  graceMs: number,
): Promise<void> {
  const { files } = dispatch;
  if (!(await store.belongsTo(await files.installationId()))) {
    logger.error(
      'files: HARNESS_FILES_DIR belongs to other data than that in Redis, so no garbage is collected. If Redis was emptied on purpose, delete the file "installation" in that folder.',
    );
    return;
  }
  for (const tenant of await store.tenants()) {
    const { discarded, deleted, keptBytes, lost } = await store
      .of(tenant)
      .collect(files.live(tenant), { graceMs });
    if (lost.length > 0)
      logger.error({ tenant, lost: lost.slice(0, 10) }, 'files: versions are lost; nothing is discarded');
    else if (discarded + deleted > 0)
      logger.info({ tenant, discarded, deleted, keptBytes }, 'files: garbage collected');
  }
}
