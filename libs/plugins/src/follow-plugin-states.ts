import { type Dispatch, untilReached } from '@harness/dispatch';
import type { PluginHost, PluginLogger } from '@harness/plugin-kit';

/**
 * Disables and enables the plugins of this process as the administrator has set them for the fleet. Resolves when the
 * current states are applied; returns a function that stops following.
 */
export async function followPluginStates(
  deps: { dispatch: Dispatch; plugins: PluginHost; logger: PluginLogger },
  onChanged: () => void = () => undefined,
): Promise<() => void> {
  const { dispatch, plugins, logger } = deps;
  let stopped = false;
  // Retries until Redis responds, so that a disabled plugin does not keep running because of a short Redis failure.
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
