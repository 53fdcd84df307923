/**
 * The whole fleet on one machine: Redis, scripted-model if no model is configured, a gateway and workers. Each is a
 * separate process. They are ended in reverse order.
 *
 * - `start.ts`     `npm start`: the fleet until Ctrl-C
 * - `demo.ts`      `npm run demo`: the main use case on a private fleet
 * - `story.ts`     the steps of the demo, as events
 * - `migrate.ts`   `npm run migrate`: migrates the data in Redis
 * - `files.ts`      `npm run files`: checks the files of threads, collects garbage
 * - `config.ts`    environment and options
 * - `inventory.ts` the list of plugins and workers that `npm start` prints
 * - `lock.ts`      one `npm start` per folder
 * - `port.ts`      checks that a port is free
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, type EmbeddedRedis, startChild, startEmbeddedRedis } from '@harness/runtime';

/** How to start a fleet. */
export interface FleetOptions {
  /** Folder of the embedded Redis; not used with `redisUrl`. */
  redisDir: string;
  /** Folder of the files of threads, if they have any; by default within `redisDir`. */
  filesDir?: string;
  redisUrl?: string | undefined;
  host?: string;
  /** 0 = any free port. */
  port: number;
  workers: number;
  /** Environment of every process, besides the addresses that the fleet sets: PATH, configuration, access to a model. */
  env: Record<string, string>;
  /** Use scripted-model, regardless of `env`. */
  scripted: boolean;
  /** Show the output of the processes in this terminal. */
  visible?: boolean;
}

/** What a worker reports when it is ready. */
export interface WorkerReady {
  workerId: string;
  maxSessions: number;
  /** Address of its /healthz, /readyz and /metrics. */
  url?: string;
}

/** What a gateway reports when it is ready. */
export interface GatewayReady {
  url: string;
  /** In plugin order; `tools` are names without the plugin's prefix. */
  plugins: { name: string; version: string; tools: string[] }[];
}

/** A running fleet. */
export interface Fleet {
  url: string;
  redisUrl: string;
  /** scripted-model; undefined if a real model is used. */
  model: Child<{ url: string }> | undefined;
  gateway: Child<GatewayReady>;
  redis: EmbeddedRedis | undefined;
  readonly workers: readonly Child<WorkerReady>[];
  addWorker(env?: Record<string, string>): Promise<Child<WorkerReady>>;
  /** Starts another gateway on the same Redis; by default on any free port. */
  addGateway(port?: number, env?: Record<string, string>): Promise<Child<GatewayReady>>;
  /** Starts scripted-model, by default on any free port. */
  addModel(port?: number): Promise<Child<{ url: string }>>;
  /** Ends all processes in reverse order. */
  close(): Promise<void>;
}

const mainOf = (service: string) => fileURLToPath(new URL(`../../${service}/src/main.ts`, import.meta.url));

/** Longer than the workers' own drain time, so that they can end by themselves. */
const workerGraceMs = 55_000;
const graceMs = 10_000;

/** Starts a fleet. Throws ConfigError if a process does not start; the others are then ended. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { visible = false } = options;
  const env = { HARNESS_FILES_DIR: options.filesDir ?? join(options.redisDir, 'files'), ...options.env };
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

    const addModel = async (port = 0) => {
      const main = mainOf('scripted-model');
      const model = await startChild<{ url: string }>({
        name: 'scripted-model',
        main,
        env: { ...env, SCRIPTED_MODEL_PORT: String(port) },
        visible,
      });
      closing.push(() => model.end(graceMs));
      return model;
    };
    const startGateway = async (port: number, more: Record<string, string> = {}) => {
      const gatewayEnv = {
        ...env,
        REDIS_URL: redisUrl,
        HOST: options.host ?? '127.0.0.1',
        PORT: String(port),
        ...more,
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
    const [model, gateway] = await both(
      options.scripted ? addModel() : Promise.resolve(undefined),
      startGateway(options.port),
    );
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
        HARNESS_WORKER_PORT: '0', // any free port, because there may be several workers
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
    const parts = { url, redisUrl, model, gateway, redis, workers };
    return { ...parts, addWorker, addGateway: (port = 0, more) => startGateway(port, more), addModel, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Waits for both, even if one fails, so that a process that did start can be ended. */
async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
