/** Figures of the fleet as they change: totals of two moments become rates. */
import type { Durations, FleetFigures } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { get } from '../../lib/api.ts';

/** What happened between two moments; null where nothing can be said. */
export interface Sample {
  /** Seconds since 1970, the unit of the plots. */
  at: number;
  successPerMin: number | null;
  failedPerMin: number | null;
  /** Of a whole turn and of its time in the mailbox, seconds. */
  p50: number | null;
  p95: number | null;
  queued95: number | null;
  /** Share of turns that found their session warm, percent. */
  warm: number | null;
  pending: number;
  oldestS: number;
  busy: number;
  idle: number;
  spare: number;
  tokensInPerMin: number | null;
  tokensOutPerMin: number | null;
  costPerHour: number | null;
  /** Of the bus. */
  queued: number;
  inHand: number;
  dead: number;
}

/** Figures are read this often, ms. */
const everyMs = 2_000;
/** Rates are averages over this time, ms: long enough to be steady, short enough to be current. */
const windowMs = 30_000;
const keptMs = 30 * 60_000;
/** A longer pause (another page, a sleeping laptop) is a gap in the plots, ms. */
const gapMs = 10_000;

/** Kept while the console is open, so that another page does not empty the plots. */
const seen: FleetFigures[] = [];
const samples: Sample[] = [];

/** The present figures and their history since the console was opened. */
export function useFigures(isAllowed: boolean) {
  const { data, error } = useQuery({
    queryKey: ['figures'],
    queryFn: async ({ signal }) => {
      const figures = await get<FleetFigures>('/v1/figures', signal);
      remember(figures);
      return { figures, samples: [...samples] };
    },
    refetchInterval: everyMs,
    enabled: isAllowed,
    structuralSharing: false,
  });
  return { figures: data?.figures, samples: data?.samples ?? [], error };
}

function remember(figures: FleetFigures): void {
  const now = Date.parse(figures.at);
  const last = seen.at(-1);
  if (last && now <= Date.parse(last.at)) return;
  if (last && now - Date.parse(last.at) > gapMs) {
    samples.push(emptyAt(Date.parse(last.at) + 1));
    seen.length = 0;
  }
  seen.push(figures);
  const before = seen.findLast(({ at }) => now - Date.parse(at) >= windowMs) ?? seen[0];
  samples.push(sampleOf(before === figures ? undefined : before, figures));
  while (Date.parse(seen[1]?.at ?? figures.at) < now - windowMs) seen.shift();
  while ((samples[0]?.at ?? 0) * 1_000 < now - keptMs) samples.shift();
}

const total = (runs: FleetFigures['runs'], fits: (run: FleetFigures['runs'][number]) => boolean) =>
  runs.filter(fits).reduce((sum, { count }) => sum + count, 0);

/** Rates between two moments; `before` undefined: only the present state. */
export function sampleOf(before: FleetFigures | undefined, now: FleetFigures): Sample {
  const { pending, oldestWaitingMs, sessions, bus } = now;
  const present = {
    at: Date.parse(now.at) / 1_000,
    pending,
    oldestS: oldestWaitingMs / 1_000,
    busy: sessions.busy,
    idle: sessions.idle,
    spare: sessions.spare,
    queued: bus.queued,
    inHand: bus.assigned + bus.inProgress,
    dead: bus.dead,
  };
  if (!before) return { ...empty, ...present };
  const minutes = (Date.parse(now.at) - Date.parse(before.at)) / 60_000;
  const runs = (fits: (run: FleetFigures['runs'][number]) => boolean) =>
    total(now.runs, fits) - total(before.runs, fits);
  const withSession = runs(({ path }) => path !== 'none');
  const use = (field: 'inputTokens' | 'outputTokens' | 'costUsd') => sumOf(now, field) - sumOf(before, field);
  const whole = between(before.phases.total, now.phases.total);
  const success = runs(({ status }) => status === 'success');
  return {
    ...present,
    successPerMin: success / minutes,
    failedPerMin: runs(({ status }) => status === 'error' || status === 'timeout') / minutes,
    p50: percentileOf(whole, 0.5),
    p95: percentileOf(whole, 0.95),
    queued95: percentileOf(between(before.phases.queued, now.phases.queued), 0.95),
    warm: withSession > 0 ? (100 * runs(({ path }) => path === 'warm')) / withSession : null,
    tokensInPerMin: use('inputTokens') / minutes,
    tokensOutPerMin: use('outputTokens') / minutes,
    costPerHour: (use('costUsd') / minutes) * 60,
  };
}

const empty = {
  successPerMin: null,
  failedPerMin: null,
  p50: null,
  p95: null,
  queued95: null,
  warm: null,
  tokensInPerMin: null,
  tokensOutPerMin: null,
  costPerHour: null,
};
/** A moment without figures: the plots have a gap there. */
const emptyAt = (ms: number): Sample => {
  const none = {
    pending: null,
    oldestS: null,
    busy: null,
    idle: null,
    spare: null,
    queued: null,
    inHand: null,
    dead: null,
  };
  return { ...empty, ...none, at: ms / 1_000 } as unknown as Sample;
};

/** A total over all models. */
export const sumOf = (
  { models }: FleetFigures,
  field: 'requests' | 'inputTokens' | 'outputTokens' | 'costUsd',
): number => models.reduce((sum, use) => sum + use[field], 0);

function between(before: Durations | undefined, now: Durations | undefined): Durations {
  if (!now) return { count: 0, sum: 0, buckets: [] };
  if (!before) return now;
  const earlier = new Map(before.buckets.map(({ le, count }) => [le, count]));
  return {
    count: now.count - before.count,
    sum: now.sum - before.sum,
    buckets: now.buckets.map(({ le, count }) => ({ le, count: count - (earlier.get(le) ?? 0) })),
  };
}

/** An estimate within a bucket, seconds; null without values. Values above the last bucket count as its bound. */
export function percentileOf({ count, buckets }: Durations, share: number): number | null {
  if (count <= 0) return null;
  const wanted = count * share;
  let [from, below] = [0, 0];
  for (const { le, count: upTo } of buckets) {
    if (upTo >= wanted) return from + ((le - from) * (wanted - below)) / (upTo - below || 1);
    [from, below] = [le, upTo];
  }
  return from;
}
