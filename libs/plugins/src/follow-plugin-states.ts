import { type Dispatch, untilReached } from '@harness/dispatch';
import type { PluginHost, PluginLogger } from '@harness/plugin-kit';

/**
 * Keeps a process's plugins as the administrator wants them: disabled ones rest, here as everywhere, from the moment it
 * is said. Resolves when the states of now are in force; returns how to stop.
 */
export async function followPluginStates(
  deps: { dispatch: Dispatch; plugins: PluginHost; logger: PluginLogger },
  onChanged: () => void = () => undefined,
): Promise<() => void> {
  const { dispatch, plugins, logger } = deps;
  let stopped = false;
  // Until it is read: a plugin that somebody disabled must not go on for a moment's trouble with Redis.
  const apply = async () => {
    const disabled = await untilReached(dispatch.pluginStates.disabled, () => stopped);
    if (!stopped && plugins.disable(disabled)) onChanged();
  };
  const stop = dispatch.replicas.onSignal(({ kind }) => {
    if (kind !== 'plugins_changed' && kind !== 'missed') return;
    apply().catch((error) => logger.error({ err: error }, 'plugin states not read'));
  });
  await apply();
  return () => {
    stopped = true;
    stop();
  };
}
