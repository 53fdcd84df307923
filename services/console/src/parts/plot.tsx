import 'uplot/dist/uPlot.min.css';
import { type ReactNode, useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { clockOf } from '../lib/format.ts';
import { useTheme } from '../lib/theme.ts';

/** A line of a plot. */
export interface Line {
  label: string;
  /** A custom property of the style sheet. */
  color: `--${string}`;
  values: readonly (number | null)[];
  /** Its latest value for people. */
  format(value: number): string;
  /** The area below it is filled. */
  filled?: boolean;
}

const height = 132;
/** The time that a plot shows at least, seconds. */
const leastSeconds = 120;

/** Lines over time. The latest values are text beside it, for people who cannot see the lines. */
export function Plot(props: {
  title: string;
  /** Seconds since 1970. */
  times: readonly number[];
  lines: readonly Line[];
  /** Of the axis. */
  format(value: number): string;
  /** Top of the axis at least. */
  top?: number;
}): ReactNode {
  const { title, times, lines, format, top = 1 } = props;
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const data = useRef<UPlot.AlignedData>([[]]);
  const [theme] = useTheme();
  data.current = [times as number[], ...lines.map(({ values }) => values as number[])];
  const shape = lines.map(({ label, color }) => `${label} ${color}`).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is made anew when its lines or its colours are others
  useEffect(() => {
    const element = holder.current as HTMLDivElement;
    const make = () => {
      plot.current?.destroy();
      const options = optionsOf({ lines, format, top, element });
      plot.current = new UPlot(options, data.current, element);
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', make);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [theme, shape]);
  useEffect(() => plot.current?.setData(data.current));

  return (
    <figure className="panel plot">
      <figcaption>
        <h2>{title}</h2>
        <dl>
          {lines.map(({ label, color, values, format: formatOf }) => {
            const latest = values.at(-1);
            return (
              <div key={label}>
                <dt>
                  <span className="key" style={{ background: `var(${color})` }} aria-hidden="true" />
                  {label}
                </dt>
                <dd>{latest == null ? '–' : formatOf(latest)}</dd>
              </div>
            );
          })}
        </dl>
      </figcaption>
      <div ref={holder} className="plot-area" aria-hidden="true" />
    </figure>
  );
}

/** A colour of the style sheet in the theme of an element: a canvas knows neither custom properties nor light-dark(). */
function colorIn(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = '';
  return color;
}

/** The times of the axis, seconds since 1970; without a value yet (null), those up to now. */
function timesOf(first: number | null, last: number | null): [number, number] {
  const end = last ?? Date.now() / 1_000;
  return [Math.min(first ?? end, end - leastSeconds), end];
}

function optionsOf(of: {
  lines: readonly Line[];
  format(value: number): string;
  top: number;
  element: HTMLElement;
}): UPlot.Options {
  const { lines, format, top, element } = of;
  const colorOf = (name: string) => colorIn(element, name);
  const axis = {
    stroke: colorOf('--muted'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width: element.clientWidth,
    height,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: (_plot, first, last) => timesOf(first, last) },
      y: { range: (_plot, _low, high) => [0, Math.max(top, (high ?? 0) * 1.15)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 90,
        values: (_plot, splits) => splits.map((at) => clockOf(new Date(at * 1_000).toISOString())),
      },
      { ...axis, size: 52, space: 34, values: (_plot, splits) => splits.map((value) => format(value)) },
    ],
    series: [
      {},
      ...lines.map(({ color, filled }) => ({
        stroke: colorOf(color),
        width: 1.6,
        points: { show: false },
        ...(filled && { fill: `color-mix(in srgb, ${colorOf(color)} 14%, transparent)` }),
      })),
    ],
  };
}
