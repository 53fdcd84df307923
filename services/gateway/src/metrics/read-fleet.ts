import type { WorkerInfo } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';

/** What is known about the whole fleet: the present state, and totals. Throws `unavailable`. */
export async function readFleet(dispatch: Pick<Dispatch, 'counters' | 'workers' | 'bus' | 'figures'>) {
  const [counters, workers, bus, totals] = await Promise.all([
    dispatch.counters(),
    dispatch.workers.list(),
    dispatch.bus.totals(),
    dispatch.figures.read(),
  ]);
  const sum = (of: (worker: WorkerInfo) => number) => workers.reduce((total, one) => total + of(one), 0);
  return {
    counters,
    totals,
    bus,
    workers: workers.length,
    sessions: {
      busy: sum(({ busy }) => busy),
      idle: sum(({ sessions, busy }) => sessions - busy),
      spare: sum(({ spares }) => spares),
      max: sum(({ maxSessions }) => maxSessions),
    },
  };
}
