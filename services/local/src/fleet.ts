/**
 * The whole fleet on one machine: Redis, scripted-model where no model is configured, gateway, workers; each a process
 * of its own, ended in the opposite order.
 */
import { fileURLToPath } from 'node:url';
import { type Child, type EmbeddedRedis, startChild, startEmbeddedRedis } from '@harness/runtime';

export interface FleetOptions {
  /** Folder of the embedded Redis; unused with `redisUrl`. */
  redisDir: string;
  redisUrl?: string | undefined;
  host?: string;
  /** 0 = a free one. */
  port: number;
  workers: number;
  /** What every part gets besides its own wiring: PATH, configuration, and how to reach a model. */
  env: Record<string, string>;
  /** Play the model, whatever `env` says. */
  scripted: boolean;
  visible?: boolean;
}

export interface WorkerReady {
  workerId: string;
  maxSessions: number;
  /** Where it answers /healthz, /readyz and /metrics. */
  url?: string;
}

export interface GatewayReady {
  url: string;
  /** In the order in which they run; `tools` without the plugin's name. */
  plugins: { name: string; version: string; tools: string[] }[];
}

export interface Fleet {
  url: string;
  redisUrl: string;
  /** Set when scripted-model answers. */
  modelUrl: string | undefined;
  gateway: Child<GatewayReady>;
  redis: EmbeddedRedis | undefined;
  readonly workers: readonly Child<WorkerReady>[];
  addWorker(env?: Record<string, string>): Promise<Child<WorkerReady>>;
  /** Another gateway on the same Redis; on a free port unless given. */
  addGateway(port?: number): Promise<Child<GatewayReady>>;
  close(): Promise<void>;
}

const mainOf = (service: string) => fileURLToPath(new URL(`../../${service}/src/main.ts`, import.meta.url));

/** Longer than the workers' own drain, so that they end themselves. */
const workerGraceMs = 55_000;
const graceMs = 10_000;

/** Throws ConfigError when a part does not come up; those that did are ended. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { env, visible = false } = options;
  const closing: (() => Promise<void>)[] = [];
  const workers: Child<WorkerReady>[] = [];
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      await Promise.all(workers.map((worker) => worker.end(workerGraceMs)));
      for (const end of closing.toReversed()) await end();
    })();
    return closed;
  };

  try {
    const redis = options.redisUrl === undefined ? await startEmbeddedRedis(options.redisDir) : undefined;
    if (redis) closing.push(redis.close);
    const redisUrl = options.redisUrl ?? (redis as EmbeddedRedis).url;

    const startModel = async () => {
      if (!options.scripted) return undefined;
      const main = mainOf('scripted-model');
      const model = await startChild<{ url: string }>({
        name: 'scripted-model',
        main,
        env: { ...env },
        visible,
      });
      closing.push(() => model.end(graceMs));
      return model;
    };
    const startGateway = async (port: number) => {
      const gatewayEnv = {
        ...env,
        REDIS_URL: redisUrl,
        HOST: options.host ?? '127.0.0.1',
        PORT: String(port),
      };
      const gateway = await startChild<GatewayReady>({
        name: 'gateway',
        main: mainOf('gateway'),
        env: gatewayEnv,
        visible,
      });
      closing.push(() => gateway.end(graceMs));
      return gateway;
    };
    const [model, gateway] = await both(startModel(), startGateway(options.port));
    const url = gateway.ready.url;
    const modelEnv = model
      ? { ANTHROPIC_BASE_URL: model.ready.url, ANTHROPIC_API_KEY: 'scripted-model needs none' }
      : {};
    const addWorker = async (more: Record<string, string> = {}) => {
      const workerEnv = {
        ...env,
        ...modelEnv,
        HARNESS_GATEWAY_URL: url,
        REDIS_URL: redisUrl,
        HARNESS_WORKER_PORT: '0', // any free one, whatever the environment says: there may be several workers
        ...more,
      };
      const worker = await startChild<WorkerReady>({
        name: 'worker',
        main: mainOf('worker'),
        env: workerEnv,
        visible,
      });
      workers.push(worker);
      return worker;
    };
    await Promise.all(Array.from({ length: options.workers }, () => addWorker()));
    const parts = { url, redisUrl, modelUrl: model?.ready.url, gateway, redis, workers };
    return { ...parts, addWorker, addGateway: (port = 0) => startGateway(port), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Waits for both, also when one fails: whatever came up must be known, to be ended. */
async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
