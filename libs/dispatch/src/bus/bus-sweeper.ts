import type { Log } from '../redis/log.ts';
import type { Bus } from './bus-contract.ts';

/** Every third sweep also deletes what has expired, of a few tenants. */
const expireEvery = 3;

/**
 * Sweeps the bus every 1-2 s, in every gateway: overdue assignments are taken back. The cost does not depend
 * on the number of waiting workers, of tenants or of tasks.
 */
export function startBusSweeper(deps: { bus: Pick<Bus, 'sweep'>; logger: Log }): { close(): void } {
  let timer: NodeJS.Timeout;
  let round = 0;
  const later = () => {
    timer = setTimeout(
      () => {
        deps.bus
          .sweep(round++ % expireEvery === 0)
          .catch((error) => deps.logger.warn({ err: error }, 'bus: sweep failed'))
          .finally(later);
      },
      1000 + Math.random() * 1000,
    );
    timer.unref();
  };
  later();
  return { close: () => clearTimeout(timer) };
}
