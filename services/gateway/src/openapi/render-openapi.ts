import type { Dispatch } from '@harness/dispatch';
import { startPluginHost } from '@harness/plugin-kit';
import { createLogger, createScrubber } from '@harness/runtime';
import { createApp } from '../app.ts';

/** A stub of Dispatch with what is called while routes are registered. */
const nowhere = {
  replicas: { onSignal: () => () => undefined },
  pluginStates: { disabled: async () => ({ all: [], tenants: {} }) },
  tickets: {},
  issuedKeys: { tenants: async () => [] },
  listedTools: { set: async () => undefined },
  gatewayCalls: { serve: async () => undefined },
  bus: { endPolls: () => undefined },
  probeWrites: () => ({ trouble: () => undefined, close: () => undefined }),
  onAckMissing: () => undefined,
} as unknown as Dispatch;

/**
 * Returns the text of openapi.yaml, generated from the registered routes; needs neither Redis nor a plugin.
 */
export async function renderOpenApi(): Promise<string> {
  const logger = createLogger('openapi', 'silent');
  const noContext = () => {
    throw new Error('no plugin runs while openapi.yaml is generated');
  };
  const app = await createApp({
    dispatch: nowhere,
    plugins: await startPluginHost({ plugins: [], logger, contextOf: noContext }),
    logger,
    scrubber: createScrubber(),
    keys: [],
    tokenSecrets: { current: '', accepted: [''], naming: '' },
    allowedHosts: [],
    allowedOrigins: [],
    waitLimitMs: 0,
  });
  await app.ready();
  const text = app.swagger({ yaml: true });
  await app.close();
  return text;
}
