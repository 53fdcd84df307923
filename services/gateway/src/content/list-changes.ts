import type { Dispatch, Signal } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import { followPluginStates } from '@harness/plugins';
import type { Logger } from '@harness/runtime';

/** With `keyId`, in what that principal alone is offered. */
export type Change = { list: 'tools' | 'resources' | 'prompts'; keyId?: string } | { uri: string };

/** What changed in what clients are offered: many changes in a row are told as one. */
export interface Changes {
  /** Returns how to stop. */
  onChange(listener: (change: Change) => void): () => void;
  /** Something changed at this gateway alone, as it does at each. */
  tell(lists: readonly (typeof allLists)[number][]): void;
  close(): void;
}

/** Long enough for a burst, short enough for "within a second". */
const coalesceMs = 250;
const allLists = ['tools', 'resources', 'prompts'] as const;

/** Resolves when plugins are as the administrator wants them. */
export async function followChanges(deps: {
  dispatch: Dispatch;
  plugins: PluginHost;
  logger: Logger;
}): Promise<Changes> {
  const { dispatch } = deps;
  const listeners = new Set<(change: Change) => void>();
  const pending = new Set<(typeof allLists)[number]>();
  let timer: NodeJS.Timeout | undefined;
  const tell = (change: Change) => {
    for (const listener of listeners) listener(change);
  };
  const tellLater = (changed: readonly (typeof allLists)[number][]) => {
    for (const list of changed) pending.add(list);
    timer ??= setTimeout(() => {
      timer = undefined;
      const due = [...pending];
      pending.clear();
      for (const list of due) tell({ list });
    }, coalesceMs);
  };
  const hear = (signal: Signal | { kind: 'missed' }) => {
    if (signal.kind === 'resource_updated') tell({ uri: signal.uri });
    if (signal.kind === 'list_changed') {
      // One session waits for it before its next question to the model.
      if (signal.keyId) tell({ list: signal.list, keyId: signal.keyId });
      else tellLater([signal.list]);
    }
    if (signal.kind === 'missed') tellLater(allLists);
  };
  const stops = [dispatch.replicas.onSignal(hear), await followPluginStates(deps, () => tellLater(allLists))];
  return {
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell: tellLater,
    close() {
      for (const stop of stops) stop();
      clearTimeout(timer);
    },
  };
}
