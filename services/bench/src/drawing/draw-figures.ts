/**
 * Draws the ratios of services/bench/README.md as bars on a logarithmic scale: median, with a line from the best to the
 * worst round. `npm run bench -- draw` writes figures.svg; a test fails while it does not match the table.
 */

/** One ratio of the table: ours to the peer's, in the same round. */
export interface Ratio {
  what: string;
  peer: string;
  median: number;
  best: number;
  worst: number;
}

const ratioText = /([\d.,]+) × \[([\d.,]+)\.\.([\d.,]+)\]([^;|]*)/;
/** Of the same row's second figure. */
const furtherRatio = /^ *and [\d.,]+ × \[[^\]]*\]/;
const numberOf = (text: string) => Number(text.replaceAll(',', ''));

/** The first ratio of each row of the README's table that has one with its spread. */
export function ratiosIn(readme: string): Ratio[] {
  return readme.split('\n').flatMap((line) => {
    const [, what, , beside = ''] = line.split('|').map((cell) => cell.trim());
    const [, median, best, worst, peer] = ratioText.exec(beside) ?? [];
    if (!what || !median || !best || !worst) return [];
    const [lowest, highest] = [numberOf(best), numberOf(worst)].toSorted((a, b) => a - b) as [number, number];
    return [
      {
        what,
        peer: (peer ?? '').replace(furtherRatio, '').trim(),
        median: numberOf(median),
        best: lowest,
        worst: highest,
      },
    ];
  });
}

const rowHeight = 44;
const left = 16;
const chartLeft = 470;
const chartWidth = 500;
const width = chartLeft + chartWidth + 90;
const top = 56;
const marks = [0.01, 0.1, 1, 10, 100];

/** The picture, as SVG text. */
export function drawRatios(ratios: readonly Ratio[]): string {
  const height = top + ratios.length * rowHeight + 24;
  const lowest = Math.log10(marks[0] as number);
  const highest = Math.log10(marks.at(-1) as number);
  const xOf = (ratio: number) =>
    chartLeft + (chartWidth * (Math.log10(Math.max(ratio, 0.01)) - lowest)) / (highest - lowest);
  const grid = marks.map((mark) => {
    const x = xOf(mark).toFixed(1);
    const isOne = mark === 1;
    return [
      `<line x1="${x}" y1="${top - 8}" x2="${x}" y2="${height - 16}" class="${isOne ? 'one' : 'grid'}"/>`,
      `<text x="${x}" y="${top - 16}" text-anchor="middle" class="small">${mark} ×</text>`,
    ].join('');
  });
  const rows = ratios.map(({ what, peer, median, best, worst }, index) => {
    const y = top + index * rowHeight;
    const [from, to] = [Math.min(xOf(1), xOf(median)), Math.max(xOf(1), xOf(median))];
    return [
      `<text x="${left}" y="${y + 16}">${escaped(shortened(what))}</text>`,
      `<text x="${left}" y="${y + 31}" class="small">${escaped(shortened(peer && `beside ${peer}`))}</text>`,
      `<rect x="${from.toFixed(1)}" y="${y + 8}" width="${Math.max(1, to - from).toFixed(1)}" height="16" class="bar"/>`,
      `<line x1="${xOf(best).toFixed(1)}" y1="${y + 16}" x2="${xOf(worst).toFixed(1)}" y2="${y + 16}" class="spread"/>`,
      `<text x="${chartLeft + chartWidth + 12}" y="${y + 20}">${median} ×</text>`,
    ].join('');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">Figures as ratios to a peer in the same round, logarithmic</title>
<style>text{font:13px sans-serif;fill:#1c2733}.small{font-size:11px;fill:#5b6876}.grid{stroke:#dde3ea}.one{stroke:#1c2733}.bar{fill:#4a7bd0}.spread{stroke:#1c2733;stroke-width:1.5}</style>
<rect width="100%" height="100%" fill="#fff"/>
${grid.join('\n')}
${rows.join('\n')}
</svg>
`;
}

const maxChars = 66;
const shortened = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text);
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
