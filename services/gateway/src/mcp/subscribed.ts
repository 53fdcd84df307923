import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Caller } from '../http/credentials/authenticate.ts';

/** Called when a client has subscribed to resources. Does not wait for their owners: the subscription is valid without them. */
export type Subscribed = (caller: Caller, uris: readonly unknown[]) => void;

/** Resources of one subscription whose owners are notified. */
const maxNotified = 1_000;

/** Notifies the plugins that own the resources: they may have to subscribe at an upstream. */
export const createSubscribed =
  ({ plugins, logger }: { plugins: PluginHost; logger: Logger }): Subscribed =>
  ({ principal }, uris) => {
    const catalog = plugins.servedFor(principal.tenant);
    for (const uri of uris.slice(0, maxNotified)) {
      if (typeof uri !== 'string') continue;
      catalog
        .subscribe(uri)
        .catch((error) => logger.debug({ err: error, uri }, 'mcp: the owner of a resource was not notified'));
    }
  };
