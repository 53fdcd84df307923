import type { SessionPath } from '@harness/contracts';
import type { Lease, LeaseEvent, Turn } from '@harness/dispatch';

/** Writes the events of one turn. */
export interface Emitter {
  push(event: LeaseEvent): void;
  /** Records on the run how it got its session, with the next events or the next `flush`. */
  recordPath(path: SessionPath): void;
  /** Resolves when all events are written, or the turn is known to be lost. */
  flush(): Promise<void>;
}

/**
 * Creates an emitter. It writes events in order, one call at a time; events that arrive during a call are
 * sent with the next one, with adjacent deltas joined. So a fast stream costs few calls, and a slow one has
 * no delay.
 */
export function createEmitter(deps: {
  lease: Pick<Lease, 'emit'>;
  turn: Turn;
  /** Returns the next counter of this epoch. */
  nextCounter(): number;
  onLost(): void;
  onCancel(): void;
  onInterrupt(): void;
}): Emitter {
  const { lease, turn } = deps;
  let waiting: LeaseEvent[] = [];
  let writing: Promise<void> | undefined;
  let path: SessionPath | undefined;

  const write = async () => {
    while (waiting.length > 0 || path) {
      const events = joined(waiting);
      const firstPath = path;
      waiting = [];
      path = undefined;
      const answer = await lease.emit(turn, { counter: deps.nextCounter(), events, path: firstPath });
      if (answer.lost) return deps.onLost();
      if (answer.cancel) deps.onCancel();
      else if (answer.interrupt) deps.onInterrupt();
    }
  };
  const start = () => {
    writing ??= write()
      .catch(deps.onLost) // an unwritten event must not be followed by a committed result
      .finally(() => {
        writing = undefined;
      });
    return writing;
  };
  return {
    push(event) {
      waiting.push(event);
      void start();
    },
    recordPath(taken) {
      path = taken;
    },
    async flush() {
      while (waiting.length > 0 || path || writing) await start();
    },
  };
}

function joined(events: LeaseEvent[]): LeaseEvent[] {
  const result: LeaseEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.type === 'agent.message_delta' && last?.type === 'agent.message_delta') {
      result[result.length - 1] = { ...last, text: `${last.text}${event.text}` };
    } else result.push(event);
  }
  return result;
}
