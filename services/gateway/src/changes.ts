import type { Dispatch, Signal } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';

export type Change = { list: 'tools' | 'resources' | 'prompts' } | { uri: string };

/** What changed in what clients are offered: many changes in a row are told as one. */
export interface Changes {
  /** Returns how to stop. */
  onChange(listener: (change: Change) => void): () => void;
  /** Reads the states of plugins again, at the start and whenever they may have changed. */
  reload(): Promise<void>;
  close(): void;
}

/** Long enough for a burst, short enough for "within a second". */
const coalesceMs = 250;
const lists = ['tools', 'resources', 'prompts'] as const;

export function followChanges(deps: { dispatch: Dispatch; plugins: PluginHost; logger: Logger }): Changes {
  const { dispatch, plugins, logger } = deps;
  const listeners = new Set<(change: Change) => void>();
  const pending = new Set<(typeof lists)[number]>();
  let timer: NodeJS.Timeout | undefined;
  const tell = (change: Change) => {
    for (const listener of listeners) listener(change);
  };
  const tellLater = (changed: readonly (typeof lists)[number][]) => {
    for (const list of changed) pending.add(list);
    timer ??= setTimeout(() => {
      timer = undefined;
      const due = [...pending];
      pending.clear();
      for (const list of due) tell({ list });
    }, coalesceMs);
  };
  const reload = async () => {
    const before = plugins.toolServer;
    plugins.disable(await dispatch.pluginStates.disabled());
    if (plugins.toolServer !== before) tellLater(lists);
  };
  const hear = (signal: Signal | { kind: 'missed' }) => {
    if (signal.kind === 'resource_updated') tell({ uri: signal.uri });
    if (signal.kind === 'list_changed') tellLater([signal.list]);
    if (signal.kind === 'missed') tellLater(lists);
    if (signal.kind === 'missed' || signal.kind === 'plugins_changed')
      reload().catch((error) => logger.error({ err: error }, 'plugin states not read'));
  };
  const stop = dispatch.replicas.onSignal(hear);
  return {
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reload,
    close() {
      stop();
      clearTimeout(timer);
    },
  };
}
