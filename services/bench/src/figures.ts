/** A figure over several rounds: the median, and the range. */
export interface Figure {
  median: number;
  min: number;
  max: number;
}

/** The figure of these rounds; at least one. */
export function figureOf(rounds: number[]): Figure {
  const sorted = rounds.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: quantile(sorted, 0), max: quantile(sorted, 1) };
}

/** The quantile `q` (0 to 1); `sorted` is ascending and not empty. */
export function quantile(sorted: number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

const digits = (value: number) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
const numberText = (value: number) => value.toFixed(digits(value));

/** The figure as text: `median unit [min..max]`. */
export const textOf = ({ median, min, max }: Figure, unit: string): string =>
  `${numberText(median)} ${unit} [${numberText(min)}..${numberText(max)}]`;

/** The ratio to a peer, computed per round, so that a slow phase of the machine affects both alike. */
export const ratioOf = (rounds: number[], peer: number[]): Figure =>
  figureOf(rounds.map((value, round) => value / (peer[round] ?? Number.NaN)));
