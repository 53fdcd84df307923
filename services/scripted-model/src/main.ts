/** Starts scripted-model as a process. */
import {
  createLogger,
  listenErrorOf,
  onShutdown,
  runMain,
  type WantedAddress,
  watchEscapes,
} from '@harness/runtime';
import { config } from './config.ts';
import { createScriptedModel } from './server.ts';

/** Maximum wait for open connections at shutdown, ms. It is short, because no request needs to be finished. */
const shutdownLimitMs = 2_000;

runMain(async () => {
  const { SCRIPTED_MODEL_HOST: host, SCRIPTED_MODEL_PORT: port, LOG_LEVEL } = config();
  const logger = createLogger('scripted-model', LOG_LEVEL);
  const wanted = {
    host: ['SCRIPTED_MODEL_HOST', host],
    port: ['SCRIPTED_MODEL_PORT', port],
  } satisfies WantedAddress;
  const scriptedModel = await createScriptedModel({ host, port, logger }).catch((error) => {
    throw listenErrorOf(error, wanted);
  });
  onShutdown(scriptedModel.close, { logger, limitMs: shutdownLimitMs, escapes: watchEscapes(logger) });
  logger.info(
    { url: scriptedModel.url },
    `scripted-model listens at ${scriptedModel.url}. It is NOT a model: it executes the script in the message.`,
  );
  process.send?.({ url: scriptedModel.url });
});
