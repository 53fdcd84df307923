import { envInteger } from '@harness/runtime';
import { z } from 'zod';
import { hostEnvOf } from './host-env.ts';
import type { IsolationSettings } from './isolation.ts';

/** Variables that set where outside plugins run. The operator decides; a plugin cannot. */
export const envIsolation = {
  /** process: one process per plugin, and one for the code of all skills. none: in the gateway and the workers. */
  HARNESS_PLUGIN_ISOLATION: z.enum(['process', 'none']).default('process'),
  /** Limit of resident memory of each process, MB. A process that exceeds it is ended and restarted. */
  HARNESS_PLUGIN_MEMORY_MB: envInteger(64, 65_536).default(512),
};

/** Makes the settings from the configuration; undefined = no isolation. */
export const isolationOf = (
  config: { HARNESS_PLUGIN_ISOLATION: 'process' | 'none'; HARNESS_PLUGIN_MEMORY_MB: number },
  env: Readonly<Record<string, string | undefined>>,
): IsolationSettings | undefined =>
  config.HARNESS_PLUGIN_ISOLATION === 'none'
    ? undefined
    : { env: hostEnvOf(env), memoryMb: config.HARNESS_PLUGIN_MEMORY_MB };
