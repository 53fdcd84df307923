import type { ReactNode } from 'react';
import { durationOf } from '../../lib/format.ts';
import { useNow } from '../../lib/use-now.ts';
import { type Span, spansOf, type Turn } from './turn.ts';

/** Where the time of a turn went: one line a part. */
export function Waterfall({ turn }: { turn: Turn }): ReactNode {
  const now = useNow();
  const { spans, totalMs } = spansOf(turn, now);
  return (
    <ol className="waterfall" aria-label={`Times of run ${turn.runId}`}>
      {spans.map((span) => (
        <li key={`${span.kind} ${span.fromMs} ${span.label}`}>
          <span className="mono cut">{span.label}</span>
          <span className="lane">
            <Bar span={span} totalMs={totalMs} />
          </span>
          <span className={`took ${span.isError ? 'tone-bad' : ''}`}>
            {durationOf(span.toMs - span.fromMs)}
            {span.open ? ' …' : ''}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** All parts of a turn on one line. */
export function TimeBar({ turn }: { turn: Turn }): ReactNode {
  const now = useNow();
  const { spans, totalMs } = spansOf(turn, now);
  return (
    <span className="lane" aria-hidden="true">
      {spans.map((span) => (
        <Bar key={`${span.kind} ${span.fromMs} ${span.label}`} span={span} totalMs={totalMs} />
      ))}
    </span>
  );
}

function Bar({ span, totalMs }: { span: Span; totalMs: number }): ReactNode {
  const { kind, fromMs, toMs, isError, label } = span;
  const part = (ms: number) => `${(100 * ms) / totalMs}%`;
  return (
    <span
      className={`bar ${kind} ${isError ? 'failed' : ''}`}
      title={`${label}: ${durationOf(toMs - fromMs)}`}
      style={{ left: part(fromMs), width: part(Math.max(toMs - fromMs, totalMs / 400)) }}
    />
  );
}
