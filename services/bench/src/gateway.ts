import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '@harness/runtime';
import { searchPath } from './config.ts';
import { writeLimits } from './limits-file.ts';

/** A running gateway process. */
export type GatewayProcess = Child<{ url: string }>;

const main = fileURLToPath(new URL('../../gateway/src/main.ts', import.meta.url));
const settleMemory = new URL('./sse/settle-memory.ts', import.meta.url).href;

/** Environment of a process that collects its garbage on SIGUSR2, before its memory is measured. */
export const settling = { NODE_OPTIONS: `--import=${settleMemory} --disable-warning=ExperimentalWarning` };

/** Starts a gateway process at any free port. */
export const startGateway = (
  redisUrl: string,
  settings: Record<string, string> = {},
): Promise<GatewayProcess> =>
  startChild<{ url: string }>({
    name: 'gateway',
    main,
    env: {
      PATH: searchPath,
      REDIS_URL: redisUrl,
      PORT: '0',
      LOG_LEVEL: 'warn',
      HARNESS_LIMITS_FILE: writeLimits({}),
      ...settings,
    },
  });
