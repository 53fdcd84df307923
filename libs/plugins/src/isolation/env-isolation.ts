import { envInteger } from '@harness/runtime';
import { z } from 'zod';
import { hostEnvOf } from './host-env.ts';
import type { IsolationSettings } from './isolation.ts';

/** Where plugins from outside run. The operator chooses; a plugin cannot. */
export const envIsolation = {
  /** process: each in a process of its own, the code of all skills in one; none: in the gateway's and workers'. */
  HARNESS_PLUGIN_ISOLATION: z.enum(['process', 'none']).default('process'),
  /** Resident memory of each such process, MB; one that has more is ended and started again. */
  HARNESS_PLUGIN_MEMORY_MB: envInteger(64, 65_536).default(512),
};

export const isolationOf = (
  config: { HARNESS_PLUGIN_ISOLATION: 'process' | 'none'; HARNESS_PLUGIN_MEMORY_MB: number },
  env: Readonly<Record<string, string | undefined>>,
): IsolationSettings | undefined =>
  config.HARNESS_PLUGIN_ISOLATION === 'none'
    ? undefined
    : { env: hostEnvOf(env), memoryMb: config.HARNESS_PLUGIN_MEMORY_MB };
