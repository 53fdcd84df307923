/** Configuration from the environment. */
import { envInteger, loadConfig } from '@harness/runtime';
import { z } from 'zod';

const schema = z.object({
  SCRIPTED_MODEL_HOST: z.string().default('127.0.0.1'),
  /** 0 = any free port. */
  SCRIPTED_MODEL_PORT: envInteger(0, 65535).default(0),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** Reads the configuration. Throws ConfigError. */
export const config = () => loadConfig(schema, process.env);
