/** Times, durations, numbers and names as people read them. */

const units: [limit: number, divisor: number, unit: string][] = [
  [60, 1, 's'],
  [3_600, 60, 'min'],
  [86_400, 3_600, 'h'],
  [Number.POSITIVE_INFINITY, 86_400, 'd'],
];

/** How long ago, in one unit: `12 s`, `3 min`, `2 d`. */
export function agoOf(iso: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000);
  const [, divisor, unit] = units.find(([limit]) => seconds < limit) as (typeof units)[number];
  return `${Math.floor(seconds / divisor)} ${unit}`;
}

/** A duration: `0 ms`, `840 ms`, `3.2 s`, `4 min 10 s`. */
export function durationOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** `12,345`. */
export const numberOf = (value: number): string => whole.format(value);
/** `12.3K`. */
export const shortNumberOf = (value: number): string => short.format(value);
/** `$0.0123`, `$12.30`, `$1,316`. */
export function dollarsOf(value: number): string {
  if (value === 0) return '$0';
  return value >= 100 ? `$${whole.format(value)}` : `$${value.toFixed(value < 0.01 ? 4 : 2)}`;
}
/** `345 B`, `1.2 kB`, `12 MB`. */
export function bytesOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(0)} MB`;
}
/** Time of day. */
export const clockOf = (iso: string): string => clock.format(new Date(iso));
/** Date and time. */
export const dayOf = (iso: string): string => day.format(new Date(iso));

/** The beginning of a generated id, which is enough to recognize it; a chosen name stays whole. */
export const shortIdOf = (id: string): string =>
  id.replace(/^(thr|run|task|wrk)_([0-9a-f]{8})[0-9a-f]{24}$/, '$1_$2');

/** A value on one line, cut to a length. */
export function lineOf(value: unknown, most = 200): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text
    .slice(0, most * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

/** A JSON text made readable; any other text as it is. */
export function prettyOf(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  if (!/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
