/**
 * The page that opens first: is it healthy, what is it doing, what needs a person.
 *
 * This folder:
 *   figures.ts    rates from totals of two moments
 *   needs-you.tsx what needs a person's attention
 */
import type { FleetFigures } from '@harness/contracts';
import type { ReactNode } from 'react';
import { dollarsOf, durationOf, numberOf, shortNumberOf } from '../../lib/format.ts';
import { useCan } from '../../lib/session.ts';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Plot } from '../../parts/plot.tsx';
import { State } from '../../parts/state.tsx';
import { percentileOf, type Sample, sumOf, useFigures } from './figures.ts';
import { NeedsYou, useReadiness } from './needs-you.tsx';
import './overview.css';

/** Scopes of which one is needed to show what needs a person. */
const needed = ['threads', 'tools', 'bus'] as const;

/** Is it healthy, what is it doing, what needs me. */
export default function OverviewPage(): ReactNode {
  const can = useCan();
  const isAllowed = can('fleet') || can('metrics');
  const { figures, samples, error } = useFigures(isAllowed);
  return (
    <div className="page">
      <PageHead title="Overview" facts={<Health figures={figures} />} />
      <section className="page scrolls" aria-label="Overview" tabIndex={0}>
        <div className="content">
          {error && <Failure error={error} />}
          {figures && <Tiles figures={figures} latest={samples.at(-1)} />}
          {needed.some(can) && <NeedsYou />}
          {figures && <Plots samples={samples} />}
          {!isAllowed && (
            <p className="muted">Figures of the fleet need a key with the scope fleet or metrics.</p>
          )}
        </div>
      </section>
    </div>
  );
}

function Health({ figures }: { figures: FleetFigures | undefined }): ReactNode {
  const { readiness, isAway } = useReadiness();
  if (isAway) return <State is="error" label="The gateway does not answer" />;
  if (readiness?.status === 'not ready')
    return (
      <State is="error" label={`Not ready: ${readiness.error?.message ?? readiness.missing.join(', ')}`} />
    );
  if (figures?.workers === 0) return <State is="blocked" label="No worker is running: messages wait" />;
  if (!readiness) return null;
  return <State is="ready" label="Healthy" />;
}

const secondsOf = (seconds: number) => durationOf(seconds * 1_000);

function Tiles({ figures, latest }: { figures: FleetFigures; latest: Sample | undefined }): ReactNode {
  const { workers, sessions, pending, oldestWaitingMs, runs, phases } = figures;
  const of = (fits: (run: FleetFigures['runs'][number]) => boolean) =>
    runs.filter(fits).reduce((sum, { count }) => sum + count, 0);
  const all = of(() => true);
  const failed = of(({ status }) => status === 'error' || status === 'timeout');
  const withSession = of(({ path }) => path !== 'none');
  const warm = of(({ path }) => path === 'warm');
  const p50 = phases.total && percentileOf(phases.total, 0.5);
  const p95 = phases.total && percentileOf(phases.total, 0.95);
  const perMin = (latest?.successPerMin ?? 0) + (latest?.failedPerMin ?? 0);
  return (
    <dl className="tiles">
      <Tile
        name="Workers"
        value={numberOf(workers)}
        about={`${sessions.busy} of ${sessions.max} sessions busy`}
        isBad={workers === 0}
      />
      <Tile
        name="Waiting"
        value={numberOf(pending)}
        about={pending === 0 ? 'no message waits' : `threads; the oldest for ${durationOf(oldestWaitingMs)}`}
        isBad={oldestWaitingMs > 30_000}
      />
      <Tile
        name="Turns"
        value={shortNumberOf(all)}
        about={`${perMin.toFixed(perMin < 10 ? 1 : 0)} a minute now`}
      />
      <Tile
        name="Failed"
        value={all === 0 ? '–' : `${((100 * failed) / all).toFixed(1)} %`}
        about={`${numberOf(failed)} in all`}
        isBad={(latest?.failedPerMin ?? 0) > 0}
      />
      <Tile
        name="Turn p50 · p95"
        value={p50 == null ? '–' : `${secondsOf(p50)} · ${secondsOf(p95 ?? 0)}`}
        about="since the start"
      />
      <Tile
        name="Warm hits"
        value={withSession === 0 ? '–' : `${((100 * warm) / withSession).toFixed(0)} %`}
        about={`${numberOf(warm)} of ${numberOf(withSession)} turns`}
      />
      <Tile
        name="Tokens"
        value={shortNumberOf(sumOf(figures, 'inputTokens') + sumOf(figures, 'outputTokens'))}
        about={`${shortNumberOf(sumOf(figures, 'outputTokens'))} of them out`}
      />
      <Tile
        name="Cost"
        value={dollarsOf(sumOf(figures, 'costUsd'))}
        about={`${dollarsOf(latest?.costPerHour ?? 0)} an hour now`}
      />
    </dl>
  );
}

function Tile(props: { name: string; value: string; about: string; isBad?: boolean }): ReactNode {
  const { name, value, about, isBad = false } = props;
  return (
    <div className={`panel tile ${isBad ? 'bad' : ''}`}>
      <dt>{name}</dt>
      <dd>
        <span className="value">{value}</span>
        <span className="about">{about}</span>
      </dd>
    </div>
  );
}

const perMinute = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} /min`;
const percent = (value: number) => `${value.toFixed(0)} %`;

function Plots({ samples }: { samples: readonly Sample[] }): ReactNode {
  const times = samples.map(({ at }) => at);
  const of = (field: keyof Sample) => samples.map((sample) => sample[field]);
  return (
    <div className="plots">
      <Plot
        title="Throughput"
        times={times}
        format={(value) => shortNumberOf(value)}
        lines={[
          {
            label: 'succeeded',
            color: '--good',
            values: of('successPerMin'),
            format: perMinute,
            filled: true,
          },
          { label: 'failed', color: '--bad', values: of('failedPerMin'), format: perMinute },
        ]}
      />
      <Plot
        title="Latency of a turn"
        times={times}
        format={secondsOf}
        lines={[
          { label: 'p50', color: '--model', values: of('p50'), format: secondsOf },
          { label: 'p95', color: '--busy', values: of('p95'), format: secondsOf },
          { label: 'queue p95', color: '--queue', values: of('queued95'), format: secondsOf },
        ]}
      />
      <Plot
        title="Warm hits"
        times={times}
        format={percent}
        top={100}
        lines={[
          { label: 'of all turns', color: '--accent', values: of('warm'), format: percent, filled: true },
        ]}
      />
      <Plot
        title="Queue"
        times={times}
        format={(value) => shortNumberOf(value)}
        lines={[
          {
            label: 'threads waiting',
            color: '--busy',
            values: of('pending'),
            format: numberOf,
            filled: true,
          },
          { label: 'oldest', color: '--warn', values: of('oldestS'), format: secondsOf },
        ]}
      />
      <Plot
        title="Sessions"
        times={times}
        format={(value) => shortNumberOf(value)}
        lines={[
          { label: 'busy', color: '--busy', values: of('busy'), format: numberOf, filled: true },
          { label: 'idle', color: '--good', values: of('idle'), format: numberOf },
          { label: 'spare', color: '--queue', values: of('spare'), format: numberOf },
        ]}
      />
      <Plot
        title="Tokens"
        times={times}
        format={(value) => shortNumberOf(value)}
        lines={[
          {
            label: 'in /min',
            color: '--tool',
            values: of('tokensInPerMin'),
            format: shortNumberOf,
            filled: true,
          },
          { label: 'out /min', color: '--model', values: of('tokensOutPerMin'), format: shortNumberOf },
        ]}
      />
      <Plot
        title="Cost"
        times={times}
        format={dollarsOf}
        lines={[
          { label: 'an hour', color: '--warn', values: of('costPerHour'), format: dollarsOf, filled: true },
        ]}
      />
      <Plot
        title="Bus"
        times={times}
        format={(value) => shortNumberOf(value)}
        lines={[
          { label: 'queued', color: '--busy', values: of('queued'), format: numberOf, filled: true },
          { label: 'with workers', color: '--good', values: of('inHand'), format: numberOf },
          { label: 'dead', color: '--bad', values: of('dead'), format: numberOf },
        ]}
      />
    </div>
  );
}
