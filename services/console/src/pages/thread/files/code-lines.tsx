import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useMemo, useRef } from 'react';
import { numberOf } from '../../../lib/format.ts';
import type { CodeLine } from './diff-lines.ts';

const lineHeight = 18;
/** A longer line is cut. */
const mostChars = 2_000;
/** Up to this many lines, all are in the page, so that the browser's search finds them; of more, those in view. */
const mostWhole = 1_000;

/** Lines of a file or a diff with their numbers: always text, never markup. */
export function CodeLines({ label, lines }: { label: string; lines: readonly CodeLine[] }): ReactNode {
  const view = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => view.current,
    estimateSize: () => lineHeight,
    overscan: lines.length <= mostWhole ? mostWhole : 40,
  });
  const widest = useMemo(() => lines.reduce((most, { text }) => Math.max(most, widthOf(text)), 0), [lines]);
  const isDiff = lines.some(({ kind }) => kind !== 'same');
  return (
    <section ref={view} className={isDiff ? 'code diff' : 'code'} aria-label={label} tabIndex={0}>
      <ol style={{ height: virtual.getTotalSize(), minWidth: `${widest + 18}ch` }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const line = lines[index];
          return (
            line && (
              <li key={key} className={line.kind} style={{ transform: `translateY(${start}px)` }}>
                {isDiff && <span className="line-number" data-number={line.old} />}
                <span className="line-number" data-number={line.now} />
                <Words line={line} />
              </li>
            )
          );
        })}
      </ol>
    </section>
  );
}

function Words({ line: { kind, text } }: { line: CodeLine }): ReactNode {
  const shown =
    text.length > mostChars
      ? `${text.slice(0, mostChars)} … ${numberOf(text.length - mostChars)} more characters`
      : text;
  if (kind === 'added') return <ins>{shown}</ins>;
  if (kind === 'removed') return <del>{shown}</del>;
  return <span>{shown}</span>;
}

/** Columns that a line takes at most. */
function widthOf(text: string): number {
  const line = text.slice(0, mostChars + 30);
  return line.length + 3 * (line.split('\t').length - 1);
}
