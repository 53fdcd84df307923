import type { ErrorBody, Run, Timings, Usage } from '@harness/contracts';

/** A tool call of a turn; `to` is absent while it runs. */
export interface TurnTool {
  id: string;
  name: string;
  from: string;
  to?: string;
  isError?: boolean;
}

/** The times of one run, from its events; ISO 8601. */
export interface Turn {
  runId: string;
  seq?: number;
  kind?: string;
  attempt?: number;
  queuedAt?: string;
  startedAt?: string;
  /** Its session was ready. */
  warmAt?: string;
  /** The model's first word or call. */
  firstAt?: string;
  endedAt?: string;
  status?: Run['status'];
  error?: ErrorBody;
  usage?: Usage;
  timings?: Timings;
  path?: Run['path'];
  tools: readonly TurnTool[];
  /** Complete messages so far. */
  texts: number;
}

/** A part of a turn's time. */
export interface Span {
  label: string;
  kind: 'queue' | 'session' | 'model' | 'tool';
  /** From the start of the turn's own time, ms. */
  fromMs: number;
  toMs: number;
  isError?: boolean;
  /** It has not ended. */
  open?: boolean;
}

/** The waterfall of a turn: its parts, and the whole time, ms. `now` ends what has not ended. */
export function spansOf(turn: Turn, now: number): { spans: Span[]; totalMs: number } {
  const { queuedAt, startedAt, endedAt, timings } = turn;
  if (!queuedAt) return { spans: [], totalMs: 0 };
  const zero = Date.parse(queuedAt);
  const ms = (iso: string) => Math.max(0, Date.parse(iso) - zero);
  const end = endedAt ? ms(endedAt) : Math.max(0, now - zero);
  const started = startedAt ? ms(startedAt) : end;
  const spans: Span[] = [
    { label: 'Queue', kind: 'queue', fromMs: 0, toMs: started, ...(!startedAt && { open: !endedAt }) },
  ];
  if (startedAt) {
    const firstMs = turn.firstAt ? ms(turn.firstAt) : end;
    const ready = readyMsOf(turn, { started, firstMs, timings });
    if (ready > started)
      spans.push({
        label: `Session${turn.path ? ` (${turn.path})` : ''}`,
        kind: 'session',
        fromMs: started,
        toMs: ready,
      });
    spans.push(...workOf(turn, { ready, end, ms }));
  }
  return { spans, totalMs: Math.max(1, end) };
}

/** When the session was ready: from the turn's own timing, or from its event. */
function readyMsOf(
  turn: Turn,
  { started, firstMs, timings }: { started: number; firstMs: number; timings: Timings | undefined },
): number {
  const sessionMs = timings?.sessionMs;
  if (typeof sessionMs === 'number') return Math.min(started + sessionMs, firstMs);
  if (turn.warmAt && turn.queuedAt)
    return Math.min(Math.max(started, Date.parse(turn.warmAt) - Date.parse(turn.queuedAt)), firstMs);
  return started;
}

/** Tools as they ran, and the model in the time between. */
function workOf(
  turn: Turn,
  { ready, end, ms }: { ready: number; end: number; ms: (iso: string) => number },
): Span[] {
  const spans: Span[] = [];
  let at = ready;
  const model = (to: number) => {
    if (to - at >= 1)
      spans.push({
        label: 'Model',
        kind: 'model',
        fromMs: at,
        toMs: to,
        ...(to === end && !turn.endedAt && { open: true }),
      });
    at = Math.max(at, to);
  };
  for (const tool of turn.tools) {
    const from = ms(tool.from);
    const to = tool.to ? ms(tool.to) : end;
    if (from > at) model(from);
    spans.push({
      label: tool.name,
      kind: 'tool',
      fromMs: from,
      toMs: to,
      ...(tool.isError && { isError: true }),
      ...(!tool.to && !turn.endedAt && { open: true }),
    });
    at = Math.max(at, to);
  }
  model(end);
  return spans;
}
