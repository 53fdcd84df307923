import type { Dispatch } from '@harness/dispatch';
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
  const apply = async () => {
    if (plugins.disable(await dispatch.pluginStates.disabled())) onChanged();
  };
  const stop = dispatch.replicas.onSignal(({ kind }) => {
    if (kind !== 'plugins_changed' && kind !== 'missed') return;
    apply().catch((error) => logger.error({ err: error }, 'plugin states not read'));
  });
  await apply();
  return stop;
}
