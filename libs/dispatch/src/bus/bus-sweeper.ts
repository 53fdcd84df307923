import type { Log } from '../redis/log.ts';
import type { Bus } from './bus.ts';

const tidyEvery = 60;

/** In every gateway, every 1-2 s: assignments that nobody spoke for go back (a constant cost, whoever waits). */
export function startBusSweeper(deps: { bus: Pick<Bus, 'sweep'>; logger: Log }): { close(): void } {
  let timer: NodeJS.Timeout;
  let round = 0;
  const later = () => {
    timer = setTimeout(
      () => {
        deps.bus
          .sweep(round++ % tidyEvery === 0)
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
