import { createLogger, onShutdown, runMain, watchEscapes } from '@harness/runtime';
import { config } from './config.ts';
import { createScriptedModel } from './server.ts';

/** Longest wait for open sockets at the end, ms: nothing here is worth finishing. */
const shutdownLimitMs = 2_000;

runMain(async () => {
  const { SCRIPTED_MODEL_HOST: host, SCRIPTED_MODEL_PORT: port, LOG_LEVEL } = config();
  const logger = createLogger('scripted-model', LOG_LEVEL);
  const scriptedModel = await createScriptedModel({ host, port, logger });
  onShutdown(scriptedModel.close, { logger, limitMs: shutdownLimitMs, escapes: watchEscapes(logger) });
  logger.info(
    { url: scriptedModel.url },
    `scripted-model answers at ${scriptedModel.url}. It is NOT a model: it plays the lines that it is sent.`,
  );
  process.send?.({ url: scriptedModel.url });
});
