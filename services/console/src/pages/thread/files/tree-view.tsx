// biome-ignore-all lint/a11y/useFocusableInteractive: the tree has the focus, and names its active item (aria-activedescendant)
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the tree hears the keys of all items
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useId, useMemo, useRef, useState } from 'react';
import { bytesOf } from '../../../lib/format.ts';
import { useShortcuts } from '../../../lib/shortcuts.ts';
import { parentOf, type TreeRow } from './file-tree.ts';

const rowHeight = 26;

/** Folders and files. Arrow keys, Home, End, `j` and `k` move; Enter opens. Only the rows in view are in the page. */
export function TreeView(props: {
  label: string;
  rows: readonly TreeRow[];
  /** Path. */
  chosen: string | undefined;
  /** A file is shown, a folder is opened or closed. */
  onOpen(row: TreeRow): void;
}): ReactNode {
  const { label, rows, chosen, onOpen } = props;
  const view = useRef<HTMLDivElement>(null);
  const id = useId();
  const [active, setActive] = useState(chosen);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rows[index]?.node.path ?? index,
  });
  const at = rows.findIndex(({ node }) => node.path === active);
  const goTo = (index: number) => {
    const row = rows[Math.min(Math.max(0, index), rows.length - 1)];
    if (!row) return;
    setActive(row.node.path);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  const open = (row: TreeRow | undefined) => {
    if (!row) return;
    setActive(row.node.path);
    onOpen(row);
  };
  const row = rows[at];
  const isFolder = row?.node.kind === 'dir';
  const actions: Record<string, () => void> = {
    ArrowDown: () => goTo(at + 1),
    ArrowUp: () => goTo(at - 1),
    Home: () => goTo(0),
    End: () => goTo(rows.length - 1),
    ArrowRight: () => (isFolder && !row.isOpen ? open(row) : goTo(at + 1)),
    ArrowLeft: () => {
      if (isFolder && row.isOpen) open(row);
      else if (row) goTo(rows.findIndex(({ node }) => node.path === parentOf(row.node.path)));
    },
    Enter: () => open(row),
    ' ': () => open(row),
  };
  const move = useRef(actions);
  move.current = actions;
  const shortcuts = useMemo(() => {
    const go = (key: string) => () => {
      view.current?.focus();
      move.current[key]?.();
    };
    return { j: go('ArrowDown'), k: go('ArrowUp') };
  }, []);
  useShortcuts(shortcuts);
  const onKeyDown = (event: KeyboardEvent) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  const shown = virtual.getVirtualItems();
  return (
    <div
      ref={view}
      className="tree"
      role="tree"
      aria-label={label}
      aria-activedescendant={shown.some(({ index }) => index === at) ? `${id}${at}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div className="tree-rows" role="presentation" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ key, index, start }) => {
          const one = rows[index];
          return (
            one && (
              <Item
                key={key}
                id={`${id}${index}`}
                row={one}
                start={start}
                isActive={index === at}
                isChosen={one.node.path === chosen}
                onOpen={() => open(one)}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

function Item(props: {
  id: string;
  row: TreeRow;
  start: number;
  isActive: boolean;
  isChosen: boolean;
  onOpen(): void;
}): ReactNode {
  const { id, row, start, isActive, isChosen, onOpen } = props;
  const { node, level, place, siblings, isOpen } = row;
  const isFolder = node.kind === 'dir';
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-selected={isChosen}
      aria-expanded={isFolder ? isOpen : undefined}
      className={isActive ? 'active' : ''}
      title={node.path}
      onClick={onOpen}
      style={{ transform: `translateY(${start}px)`, paddingLeft: 12 + (level - 1) * 16 }}
    >
      <span className="turner" aria-hidden="true">
        {isFolder ? (isOpen ? '▾' : '▸') : ''}
      </span>
      <span className="mono cut grow">
        {node.name}
        {isFolder && <span className="muted">/</span>}
      </span>
      <span className="muted size">{node.kind === 'symlink' ? 'link' : bytesOf(node.size)}</span>
    </div>
  );
}
