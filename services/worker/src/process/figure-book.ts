import { randomUUID } from 'node:crypto';
import type { ModelUse, RunPhase } from '@harness/contracts';
import { type Counted, durationFields, type Figures } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { ObservedTurn } from './observe-turn.ts';

/** Collects what this worker counts, and adds it to the totals of the fleet. */
export interface FigureBook {
  turnEnded(seen: ObservedTurn): void;
  /** Sends the last batch, and stops. */
  close(): Promise<void>;
}

/** Time between two batches, ms. */
const flushMs = 1_000;

/**
 * Creates the book. A batch that Redis does not take is kept and sent again, so counts survive an outage. `totals`:
 * numbers of this process that only rise, read at each batch.
 */
export function createFigureBook(deps: {
  figures: Pick<Figures, 'add' | 'forget'>;
  workerId: string;
  totals(): Record<string, number>;
  logger: Logger;
}): FigureBook {
  const { figures, workerId, logger } = deps;
  let counted: Counted = { totals: {}, uses: [] };
  let reported: Record<string, number> = {};
  let unsent: { batch: string; counted: Counted } | undefined;
  let sending: Promise<void> | undefined;

  const add = (fields: Record<string, number>) => {
    for (const [field, count] of Object.entries(fields))
      counted.totals[field] = (counted.totals[field] ?? 0) + count;
  };
  const take = () => {
    const now = deps.totals();
    for (const [field, total] of Object.entries(now)) {
      const more = total - (reported[field] ?? 0);
      if (more > 0) add({ [field]: more });
    }
    reported = now;
    if (Object.keys(counted.totals).length === 0 && counted.uses.length === 0) return undefined;
    const batch = { batch: randomUUID(), counted };
    counted = { totals: {}, uses: [] };
    return batch;
  };
  const send = async () => {
    unsent ??= take();
    if (!unsent) return;
    await figures.add({ process: workerId, batch: unsent.batch }, unsent.counted);
    unsent = undefined;
  };
  const flush = () => {
    sending ??= send()
      .catch((error) => logger.debug({ err: error }, 'figures not added; they are sent again'))
      .finally(() => {
        sending = undefined;
      });
    return sending;
  };
  const timer = setInterval(flush, flushMs);
  timer.unref();

  return {
    turnEnded({ path, timings, uses, isFollowUp, died }) {
      if (died) add(durationFields('failover', died.silentMs / 1000));
      if (path !== 'none') {
        const { queuedMs = null, sessionMs = null, firstTokenMs = null, totalMs = null } = timings ?? {};
        const phases: [RunPhase, number | null][] = [
          ['queued', queuedMs],
          ['session', sessionMs],
          ['first_token', firstTokenMs],
          ['total', totalMs],
        ];
        for (const [phase, ms] of phases) {
          if (ms !== null) add(durationFields(`${phase}:${path}`, ms / 1000));
        }
        if (isFollowUp) add({ [`followups:${path}`]: 1 });
      }
      for (const use of uses) addUse(counted.uses, use);
    },
    async close() {
      clearInterval(timer);
      await sending;
      await flush();
      await figures.forget(workerId).catch(() => undefined); // the sweep does it then
    },
  };
}

function addUse(uses: ModelUse[], use: ModelUse): void {
  const known = uses.find(
    ({ model, agent, tenant }) => model === use.model && agent === use.agent && tenant === use.tenant,
  );
  if (!known) {
    uses.push({ ...use });
    return;
  }
  known.requests += use.requests;
  known.inputTokens += use.inputTokens;
  known.outputTokens += use.outputTokens;
  known.costUsd += use.costUsd;
}
