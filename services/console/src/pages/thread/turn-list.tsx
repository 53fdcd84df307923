import { type ReactNode, useState } from 'react';
import { clockOf, durationOf, numberOf, shortIdOf } from '../../lib/format.ts';
import { State } from '../../parts/state.tsx';
import type { Turn } from './turn.ts';
import { TimeBar, Waterfall } from './waterfall.tsx';

const shownAtOnce = 100;

/** Every turn with its times, latest first. */
export function TurnList({ turns }: { turns: ReadonlyMap<string, Turn> }): ReactNode {
  const [open, setOpen] = useState<string>();
  const [count, setCount] = useState(shownAtOnce);
  const all = [...turns.values()].reverse();
  if (all.length === 0) return <div className="empty">No turn yet</div>;
  return (
    <section className="page scrolls" aria-label="Turns" tabIndex={0}>
      <div className="legend muted" aria-hidden="true">
        <span className="bar queue" /> queue <span className="bar session" /> session{' '}
        <span className="bar model" /> model <span className="bar tool" /> tool
      </div>
      <ol className="turns">
        {all.slice(0, count).map((turn) => (
          <li key={turn.runId}>
            <button
              type="button"
              className="turn-line"
              aria-expanded={open === turn.runId}
              onClick={() => setOpen(open === turn.runId ? undefined : turn.runId)}
            >
              <span className="muted">{turn.queuedAt && clockOf(turn.queuedAt)}</span>
              <span className="mono">{shortIdOf(turn.runId)}</span>
              <State is={turn.status ?? (turn.startedAt ? 'running' : 'pending')} />
              <span className="muted">{turn.path ?? ''}</span>
              <TimeBar turn={turn} />
              <span className="took">
                {turn.timings?.totalMs == null ? '' : durationOf(turn.timings.totalMs)}
              </span>
              <span className="took muted">
                {turn.tools.length > 0 ? `${numberOf(turn.tools.length)} calls` : ''}
              </span>
            </button>
            {open === turn.runId && <Waterfall turn={turn} />}
          </li>
        ))}
      </ol>
      {all.length > count && (
        <button type="button" className="more" onClick={() => setCount(count + shownAtOnce)}>
          Show {numberOf(Math.min(shownAtOnce, all.length - count))} more of {numberOf(all.length - count)}
        </button>
      )}
    </section>
  );
}
