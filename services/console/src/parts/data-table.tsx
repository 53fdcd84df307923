/**
 * Parts that several pages use; this one is the table.
 *
 * This folder:
 *   action-button.tsx a button that waits for the gateway
 *   ago.tsx           how long ago
 *   failure.tsx       a failure as the gateway describes it
 *   field-input.tsx   one field of a form
 *   json-text.tsx     a JSON value, readable
 *   modal.tsx         a dialog over the page
 *   page-head.tsx     the head of a page
 *   plot.tsx          lines over time
 *   schema-form.ts    a form from a JSON Schema
 *   search-field.tsx  filters a list
 *   segments.tsx      one choice of a few
 *   side-panel.tsx    the chosen item beside its list
 *   state.tsx         a state in words and colour
 *   tabs.tsx          tabs
 *   toast.tsx         messages for a few seconds
 */

// biome-ignore-all lint/a11y/useSemanticElements: rows that are laid out as a grid, and virtual, lose the semantics of a table element
// biome-ignore-all lint/a11y/useFocusableInteractive: a header is not interactive; the button in it is
import { Link, useNavigate } from '@tanstack/react-router';
import {
  createSortedRowModel,
  rowSortingFeature,
  sortFns,
  type Row as TableRow,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { useShortcuts } from '../lib/shortcuts.ts';

/** A column of a table. */
export interface Column<Item> {
  id: string;
  header: string;
  /** A track of a CSS grid: `120px`, `minmax(160px, 2fr)`. */
  width: string;
  cell(item: Item): ReactNode;
  /** What the column sorts by; absent: it does not sort. */
  sort?: (item: Item) => string | number;
  isNumber?: boolean;
}

/** What a table shows. */
export interface DataTableProps<Item> {
  /** For people who cannot see it. */
  label: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  keyOf(item: Item): string;
  /** Where a row leads; its first cell is the link. */
  hrefOf?: (item: Item) => string;
  onOpen?: (item: Item) => void;
  selected?: string | undefined;
  /** There are more items: called when the end comes into view. */
  onEnd?: (() => void) | undefined;
  /** What is listed: another list begins at its top. Its rows stay those of the one before where they are the same. */
  listed?: string;
  /** As high as its rows, for a few of them. */
  fits?: boolean;
  empty: ReactNode;
}

/** A cell without a value. */
export const none: ReactNode = <span className="muted">–</span>;

const rowHeight = 33;
const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns });

/** A table with sortable columns, virtual rows, and `j`, `k` and Enter. */
export function DataTable<Item extends object>(props: DataTableProps<Item>): ReactNode {
  const { label, items, keyOf, onEnd, listed, fits = false, empty, columns } = props;
  const view = useRef<HTMLDivElement>(null);
  const definitions = useMemo(
    () =>
      columns.map(({ id, header, sort, isNumber }) => ({
        id,
        header,
        accessorFn: sort ?? (() => ''),
        enableSorting: sort !== undefined,
        sortDescFirst: isNumber === true,
        sortFn: 'basic' as const,
      })),
    [columns],
  );
  const data = items as Item[];
  const table = useTable<typeof features, Item>({ features, columns: definitions, data, getRowId: keyOf });
  const { rows } = table.getRowModel();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const shown = virtual.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (!fits && onEnd && lastShown >= rows.length - 20) onEnd();
  }, [fits, onEnd, lastShown, rows.length]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the list is another one
  useEffect(() => {
    view.current?.scrollTo({ top: 0 }); // returns a promise in new browsers
  }, [listed]);
  useRowKeys(view);

  const template = columns.map(({ width }) => width).join(' ');
  if (items.length === 0) return <div className="empty">{empty}</div>;
  return (
    <div
      ref={view}
      className={`table ${fits ? 'fits' : ''}`}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length}
      tabIndex={0}
    >
      <div className="thead" role="rowgroup">
        {table.getHeaderGroups().map((group) => (
          <div key={group.id} role="row" style={{ gridTemplateColumns: template }}>
            {group.headers.map(({ id, column }, index) => (
              <HeaderCell
                key={id}
                name={columns[index]?.header ?? ''}
                isNumber={columns[index]?.isNumber === true}
                column={column}
              />
            ))}
          </div>
        ))}
      </div>
      <div className="tbody" role="rowgroup" style={fits ? {} : { height: virtual.getTotalSize() }}>
        {fits
          ? rows.map((row) => <BodyRow key={row.id} row={row} template={template} {...props} />)
          : shown.map(({ key, index, start }) => {
              const row = rows[index];
              return row && <BodyRow key={key} row={row} start={start} template={template} {...props} />;
            })}
      </div>
    </div>
  );
}

interface SortingColumn {
  getCanSort(): boolean;
  getIsSorted(): false | 'asc' | 'desc';
  toggleSorting(): void;
}

function HeaderCell({
  name,
  isNumber,
  column,
}: {
  name: string;
  isNumber: boolean;
  column: SortingColumn;
}): ReactNode {
  const sorted = column.getIsSorted();
  const order = sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : 'none';
  const className = isNumber ? 'number' : '';
  if (!column.getCanSort())
    return (
      <div role="columnheader" className={className}>
        {name}
      </div>
    );
  return (
    <div role="columnheader" aria-sort={order} className={className}>
      <button type="button" className="sort" onClick={() => column.toggleSorting()}>
        {name}
        <span aria-hidden="true">{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}</span>
      </button>
    </div>
  );
}

function BodyRow<Item extends object>(
  props: DataTableProps<Item> & { row: TableRow<typeof features, Item>; template: string; start?: number },
): ReactNode {
  const { row, template, start, columns, hrefOf, onOpen, selected } = props;
  const navigate = useNavigate();
  const item = row.original;
  const href = hrefOf?.(item);
  const open = onOpen
    ? () => onOpen(item)
    : href !== undefined
      ? () => void navigate({ to: href })
      : undefined;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: its first cell holds the link or button for the keyboard
    <div
      role="row"
      tabIndex={-1}
      className={open ? 'opens' : ''}
      data-selected={row.id === selected ? '' : undefined}
      onClick={(event) => {
        const isOwn = event.target instanceof Element && event.target.closest('a, button, input, select');
        if (!isOwn && getSelection()?.isCollapsed !== false) open?.();
      }}
      style={{
        gridTemplateColumns: template,
        ...(start !== undefined && { transform: `translateY(${start}px)` }),
      }}
    >
      {columns.map((column, index) => {
        const content = column.cell(item);
        const linked =
          index > 0 ? (
            content
          ) : href !== undefined ? (
            <Link to={href} className="row-link">
              {content}
            </Link>
          ) : onOpen ? (
            <button type="button" className="row-link" onClick={() => onOpen(item)}>
              {content}
            </button>
          ) : (
            content
          );
        return (
          <div key={column.id} role="cell" className={column.isNumber ? 'number' : ''}>
            {linked}
          </div>
        );
      })}
    </div>
  );
}

/** `j` and `k` move the focus from row to row. */
function useRowKeys(view: { current: HTMLDivElement | null }): void {
  const shortcuts = useMemo(() => {
    const move = (by: 1 | -1) => {
      const links = [...(view.current?.querySelectorAll<HTMLElement>('.row-link') ?? [])];
      const at = links.indexOf(document.activeElement as HTMLElement);
      const next = at === -1 ? (by === 1 ? 0 : links.length - 1) : at + by;
      links[next]?.focus();
    };
    return { j: () => move(1), k: () => move(-1) };
  }, [view]);
  useShortcuts(shortcuts);
}
