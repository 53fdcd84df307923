import type { Dispatch } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';

/** Brings what plugins broadcast, anywhere in the fleet, to the plugins of this gateway; until the host closes. */
export function followBroadcasts(deps: {
  dispatch: Dispatch;
  plugins: PluginHost;
  logger: Logger;
}): PluginHost {
  const { dispatch, plugins, logger } = deps;
  const ended = new AbortController();
  dispatch
    .followBroadcasts((event, data) => void plugins.hooks.broadcast(event, data), ended.signal)
    .catch((error) => logger.error({ err: error }, 'broadcasts lost'));
  return {
    ...plugins,
    async close() {
      ended.abort();
      await plugins.close();
    },
  };
}
