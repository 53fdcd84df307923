import type { Dispatch, Signal } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import { followPluginStates } from '@harness/plugins';
import type { Logger } from '@harness/runtime';

/**
 * A list that clients see has changed, or the resource at `uri`. With `keyId`: only the list of that
 * principal.
 */
export type Change = { list: 'tools' | 'resources' | 'prompts'; keyId?: string } | { uri: string };

/**
 * Notifies listeners of changes in the offered tools, resources and prompts; changes within 250 ms are
 * merged.
 */
export interface Changes {
  /** Returns the function that unsubscribes. */
  onChange(listener: (change: Change) => void): () => void;
  /** Reports changes that every gateway detects for itself, so they are not broadcast. */
  report(lists: readonly (typeof allLists)[number][]): void;
  close(): void;
}

/** Covers a burst of changes, and keeps notifications within a second. */
const coalesceMs = 250;
const allLists = ['tools', 'resources', 'prompts'] as const;

/** Starts following changes. Resolves when the plugins are enabled and disabled as stored in Redis. */
export async function followChanges(deps: {
  dispatch: Dispatch;
  plugins: PluginHost;
  logger: Logger;
}): Promise<Changes> {
  const { dispatch } = deps;
  const listeners = new Set<(change: Change) => void>();
  const pending = new Set<(typeof allLists)[number]>();
  let timer: NodeJS.Timeout | undefined;
  const notify = (change: Change) => {
    for (const listener of listeners) listener(change);
  };
  const notifySoon = (changed: readonly (typeof allLists)[number][]) => {
    for (const list of changed) pending.add(list);
    timer ??= setTimeout(() => {
      timer = undefined;
      const due = [...pending];
      pending.clear();
      for (const list of due) notify({ list });
    }, coalesceMs);
  };
  const hear = (signal: Signal | { kind: 'missed' }) => {
    if (signal.kind === 'resource_updated') notify({ uri: signal.uri });
    if (signal.kind === 'list_changed') {
      // Not merged: the session of that principal waits for it before its next request to the model.
      if (signal.keyId) notify({ list: signal.list, keyId: signal.keyId });
      else notifySoon([signal.list]);
    }
    if (signal.kind === 'missed') notifySoon(allLists);
  };
  const stops = [
    dispatch.replicas.onSignal(hear),
    await followPluginStates(deps, () => notifySoon(allLists)),
  ];
  return {
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    report: notifySoon,
    close() {
      for (const stop of stops) stop();
      clearTimeout(timer);
    },
  };
}
