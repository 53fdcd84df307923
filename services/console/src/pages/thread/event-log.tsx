import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { clockOf, lineOf, numberOf } from '../../lib/format.ts';
import { JsonText } from '../../parts/json-text.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { SidePanel } from '../../parts/side-panel.tsx';
import type { ThreadEvent } from './event-kinds.ts';

const rowHeight = 27;

/** The raw events, latest first, as the stream has them. */
export function EventLog({ events }: { events: readonly ThreadEvent[] }): ReactNode {
  const view = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<ThreadEvent>();
  const { length } = events;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is changed in place, its length tells
  const shown = useMemo(
    () =>
      text === ''
        ? events
        : events.filter((event) => JSON.stringify(event).toLowerCase().includes(text.toLowerCase())),
    [events, length, text],
  );
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  return (
    <div className="page">
      <div className="filters">
        <SearchField
          label="Filter the events"
          placeholder="Filter by type, text, id"
          value={text}
          onChange={setText}
        />
        <span className="muted">
          {numberOf(shown.length)} of {numberOf(length)} events
        </span>
      </div>
      <div className="log-frame">
        <section ref={view} className="log" aria-label="Events" tabIndex={0}>
          <ol style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ key, index, start }) => {
              const event = shown[shown.length - 1 - index];
              return (
                event && (
                  <li key={key} style={{ transform: `translateY(${start}px)` }}>
                    <button
                      type="button"
                      aria-pressed={chosen?.id === event.id}
                      onClick={() => setChosen(event)}
                    >
                      <time dateTime={event.data.at}>{clockOf(event.data.at)}</time>
                      <span className="mono">{event.type}</span>
                      <span className="mono cut muted">{summaryOf(event)}</span>
                    </button>
                  </li>
                )
              );
            })}
          </ol>
        </section>
        {chosen && (
          <SidePanel label="The chosen event" title={chosen.type} onClose={() => setChosen(undefined)}>
            <p className="muted mono">{chosen.id}</p>
            <JsonText value={chosen.data} label="Data of the event" />
          </SidePanel>
        )}
      </div>
    </div>
  );
}

function summaryOf({ data }: ThreadEvent): string {
  const { type: _, threadId: __, at: ___, runId: ____, ...rest } = data;
  return lineOf(rest, 300);
}
