/**
 * A fleet of real processes whose connections to Redis pass through proxies: one for the gateways, one for each worker.
 * Sessions are fake agents, so that many turns are cheap. All its files are in one temporary folder.
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Child,
  connectRedis,
  createLogger,
  ended,
  type Redis,
  startEmbeddedRedis,
} from '@harness/runtime';
import { type Fleet, startFleet, type WorkerReady } from '../../src/fleet.ts';
import { type Client, createClient } from './client.ts';
import { type Effects, openEffects } from './effects.ts';
import { descendantsOf, type ProcessSeen } from './processes.ts';
import { createRandom, type Random } from './random.ts';
import { openProxy, type RedisProxy } from './tcp-proxy.ts';
import { until } from './until.ts';

export interface FaultFleetOptions {
  seed: number;
  workers?: number;
  gateways?: number;
  env?: Record<string, string>;
  /** The real Agent SDK with scripted-model, instead of fake agents. */
  real?: boolean;
}

export interface FaultWorker extends Child<WorkerReady> {
  /** Its proxy to Redis. */
  proxy: RedisProxy;
}

export type FaultGateway = Child<{ url: string }>;

export interface FaultFleet {
  dir: string;
  random: Random;
  client: Client;
  effects: Effects;
  /** A connection for observation, which no fault affects. */
  redis: Redis;
  /** The gateways' proxy to Redis. */
  proxy: RedisProxy;
  readonly workers: readonly FaultWorker[];
  readonly gateways: readonly FaultGateway[];
  /** Addresses of the gateways that clients may use. */
  gatewayUrls(): string[];
  addWorker(env?: Record<string, string>): Promise<FaultWorker>;
  addGateway(): Promise<FaultGateway>;
  /** kill -9; clients no longer use it. */
  killGateway(gateway: FaultGateway): Promise<void>;
  redisProcess(): { pid: number };
  killRedis(): Promise<void>;
  startRedis(): Promise<void>;
  /** Makes agents that start from now on misbehave: see fake-agent.mjs. */
  curseNextAgent(curse: 'deaf-from-start'): Promise<void>;
  /** Resolves when an agent has begun to misbehave so. */
  cursed(): Promise<void>;
  /** Every process of this fleet so far. */
  readonly family: readonly ProcessSeen[];
  noteFamily(): void;
  close(): Promise<void>;
}

/** Short, so that a fail-over fits into a test; long enough for two busy cores. */
export const ttlMs = 2_000;

const inThisFolder = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export async function openFaultFleet(options: FaultFleetOptions): Promise<FaultFleet> {
  const random = createRandom(options.seed);
  const dir = await mkdtemp(join(tmpdir(), 'harness-faults-'));
  const [tmp, state, redisDir] = ['tmp', 'state', 'redis'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [tmp, state]) mkdirSync(folder);
  const effects = openEffects(join(dir, 'effects'));
  const proxies: RedisProxy[] = [];
  const closing: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  const close = async () => {
    for (const end of closing.splice(0).toReversed()) await end();
  };

  try {
    let embedded = await startEmbeddedRedis(redisDir);
    closing.push(() => embedded.close());
    const { url: target } = embedded;
    closing.push(() => Promise.all(proxies.map((proxy) => proxy.close()))); // after everything that uses them
    const proxied = async () => {
      const proxy = await openProxy({ target, random });
      proxies.push(proxy);
      return proxy;
    };
    const proxy = await proxied();
    const env = {
      PATH: process.env.PATH ?? '',
      TMPDIR: tmp,
      LOG_LEVEL: 'warn',
      HARNESS_SPARES: '0',
      HARNESS_WORKER_TTL_MS: String(ttlMs),
      HARNESS_DRAIN_MS: '10000',
      HARNESS_PLUGINS: inThisFolder('effects-plugin.ts'),
      FAULTS_LEDGER: effects.path,
      ...(options.real ? {} : { HARNESS_AGENT_EXECUTABLE: inThisFolder('fake-agent.mjs') }),
      ANTHROPIC_FAKE_STATE: state,
      ...options.env,
    };
    const fleet: Fleet = await startFleet({
      redisDir,
      redisUrl: proxy.url,
      port: 0,
      workers: 0,
      env,
      scripted: options.real === true,
      visible: process.env.FAULTS_VISIBLE === '1',
    });
    closing.push(fleet.close);

    const family = new Map<string, ProcessSeen>();
    const noteFamily = () => {
      for (const seen of descendantsOf(process.pid)) family.set(`${seen.pid} ${seen.startedAt}`, seen);
    };
    const workers: FaultWorker[] = [];
    const addWorker = async (more: Record<string, string> = {}) => {
      const own = await proxied();
      const child = await fleet.addWorker({ REDIS_URL: own.url, ...more });
      const worker = { ...child, proxy: own };
      workers.push(worker);
      return worker;
    };
    const gateways: FaultGateway[] = [fleet.gateway];
    const gone = new Set<FaultGateway>();
    const addGateway = async () => {
      const gateway = await fleet.addGateway();
      gateways.push(gateway);
      return gateway;
    };
    const gatewayUrls = () => gateways.filter((one) => !gone.has(one)).map(({ ready }) => ready.url);
    const redis = connectRedis(target, { logger: createLogger('faults', 'silent'), patience: 'wait' });
    closing.push(async () => redis.disconnect());

    await Promise.all([
      ...Array.from({ length: options.workers ?? 2 }, () => addWorker()),
      ...Array.from({ length: (options.gateways ?? 1) - 1 }, addGateway),
    ]);
    noteFamily();
    return {
      dir,
      random,
      client: createClient(gatewayUrls),
      effects,
      redis,
      proxy,
      workers,
      gateways,
      gatewayUrls,
      addWorker,
      addGateway,
      async killGateway(gateway) {
        gateway.process.kill('SIGKILL');
        gone.add(gateway);
        await gateway.exited;
      },
      redisProcess: () => ({ pid: embedded.process.pid as number }),
      killRedis: () => ended(embedded.process, 'SIGKILL'),
      async startRedis() {
        embedded = await startEmbeddedRedis(redisDir);
      },
      curseNextAgent: (curse) => writeFile(join(state, curse), ''),
      cursed: () =>
        until('an agent has taken the curse', () => readdirSync(state).length === 0).then(() => undefined),
      get family() {
        return [...family.values()];
      },
      noteFamily,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
