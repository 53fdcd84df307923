import type { Dispatch } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';

/** Brings what plugins broadcast, anywhere in the fleet, to the plugins of this gateway, until the signal aborts. */
export function followBroadcasts(
  deps: { dispatch: Dispatch; plugins: PluginHost; logger: Logger },
  signal: AbortSignal,
): void {
  const { dispatch, plugins, logger } = deps;
  dispatch
    .followBroadcasts((event, data) => void plugins.hooks.broadcast(event, data), signal)
    .catch((error) => logger.error({ err: error }, 'broadcasts lost'));
}
