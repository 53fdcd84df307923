import { type ReactNode, useSyncExternalStore } from 'react';

interface Message {
  text: string;
  tone: 'plain' | 'bad';
}

const shownMs = 6_000;
let current: Message | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function show(message: Message | undefined): void {
  current = message;
  for (const listener of listeners) listener();
}

/** Says something for a few seconds. */
export function toast(text: string, tone: Message['tone'] = 'plain'): void {
  clearTimeout(timer);
  show({ text, tone });
  timer = setTimeout(() => show(undefined), shownMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where messages appear. */
export function Toasts(): ReactNode {
  const message = useSyncExternalStore(subscribe, () => current);
  return (
    <div role="status" aria-live="polite">
      {message && (
        <div className={`toast tone-${message.tone === 'bad' ? 'bad' : 'text'}`}>{message.text}</div>
      )}
    </div>
  );
}
