import type { Dispatch } from '@harness/dispatch';
import { startPluginHost } from '@harness/plugin-kit';
import { createLogger } from '@harness/runtime';
import { createApp } from '../app.ts';

/** As much of the fleet as routes ask for while they are made. */
const nowhere = {
  replicas: { onSignal: () => () => undefined },
  pluginStates: { disabled: async () => [] },
  bus: { endPolls: () => undefined },
  probeWrites: () => ({ trouble: () => undefined, close: () => undefined }),
} as unknown as Dispatch;

/** openapi.yaml, from the routes themselves. Nothing is called, so nothing needs to run. */
export async function renderOpenApi(): Promise<string> {
  const logger = createLogger('openapi', 'silent');
  const noContext = () => {
    throw new Error('no plugin runs here');
  };
  const app = await createApp({
    dispatch: nowhere,
    plugins: await startPluginHost({ plugins: [], logger, contextOf: noContext }),
    logger,
    keys: [],
    tokenSecret: '',
    allowedHosts: [],
    allowedOrigins: [],
    waitLimitMs: 0,
  });
  await app.ready();
  const text = app.swagger({ yaml: true });
  await app.close();
  return text;
}
