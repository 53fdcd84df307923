import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '@harness/runtime';
import { searchPath } from './config.ts';

export type GatewayProcess = Child<{ url: string }>;

const main = fileURLToPath(new URL('../../gateway/src/main.ts', import.meta.url));
const settleMemory = new URL('./sse/settle-memory.ts', import.meta.url).href;

/** What lets a process settle its memory on SIGUSR2, before it is measured. */
export const settling = { NODE_OPTIONS: `--import=${settleMemory} --disable-warning=ExperimentalWarning` };

/** A gateway as a process of its own, at any free port. */
export const startGateway = (
  redisUrl: string,
  settings: Record<string, string> = {},
): Promise<GatewayProcess> =>
  startChild<{ url: string }>({
    name: 'gateway',
    main,
    env: { PATH: searchPath, REDIS_URL: redisUrl, PORT: '0', LOG_LEVEL: 'warn', ...settings },
  });
