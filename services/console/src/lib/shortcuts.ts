import { useEffect } from 'react';

/** Keys and what they do. Two keys in a row: `g t`. */
export type Shortcuts = Record<string, (event: KeyboardEvent) => void>;

const sequenceMs = 1_000;

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Listens for shortcuts while the component is mounted; not in a field that takes text, or with a modifier key. */
export function useShortcuts(shortcuts: Shortcuts): void {
  useEffect(() => {
    let first: { key: string; at: number } | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target))
        return;
      const pair = first && Date.now() - first.at < sequenceMs ? `${first.key} ${event.key}` : undefined;
      const action = (pair && shortcuts[pair]) ?? shortcuts[event.key];
      first = { key: event.key, at: Date.now() };
      if (!action) return;
      first = undefined;
      event.preventDefault();
      action(event);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [shortcuts]);
}
