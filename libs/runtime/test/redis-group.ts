/** A highly available Redis: a primary, a replica, and sentinels that promote it. Real processes. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { ended } from '../src/embedded-redis.ts';
import { pdeathsig } from '../src/pdeathsig.ts';

/** One server of the group. */
export interface RedisNode {
  port: number;
  url: string;
  /** A connection for the test. */
  client: Redis;
  process(): ChildProcess;
  kill(): Promise<void>;
  /** Suspends the process: it neither answers nor confirms until `go`. */
  stop(): void;
  go(): void;
}

/** The running group. */
export interface RedisGroup {
  /** For REDIS_URL: the sentinels if there are any, else the primary. */
  url: string;
  /** Certificate of the authority that a client must trust (NODE_EXTRA_CA_CERTS); exists with `tls`. */
  certificateFile: string;
  primary(): RedisNode;
  replica(): RedisNode;
  /** Resolves when the replica has everything that the primary has. */
  synced(): Promise<void>;
  /** Disconnects the replica: it misses what the primary writes from now on. */
  lag(): Promise<void>;
  /**
   * Kills the primary with SIGKILL and resolves when the sentinels have promoted the replica. `onKilled`:
   * called right after the kill.
   */
  failOver(onKilled?: () => void): Promise<void>;
  /** Restarts the killed server, as the replica. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

const password = 'of-the-group';
const groupName = 'main';
/** A primary that is silent for this long counts as down, ms. */
const downAfterMs = 700;
const limitMs = 20_000;

/**
 * Starts the group. `sentinels`: 0 or 3. `tls`: all connections use TLS, with the certificate of
 * `certificateFile`. Throws when it is not ready within 20 s.
 */
export async function openRedisGroup({ sentinels = 3, tls = false } = {}): Promise<RedisGroup> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-group-'));
  const machine = await openMachine(dir, tls);
  const [first = 0, second = 0, ...sentinelPorts] = await freePorts(2 + sentinels);
  let primary = await openNode(machine, first);
  let replica = await openNode(machine, second, first);
  const synced = () =>
    until('the replica has everything', async () => {
      const [ofPrimary, ofReplica] = await Promise.all([
        primary.client.info('replication'),
        replica.client.info('replication'),
      ]);
      const offset = (info: string) => /^master_repl_offset:(\d+)/m.exec(info)?.[1];
      return /^master_link_status:up/m.test(ofReplica) && offset(ofPrimary) === offset(ofReplica);
    });
  await synced();
  const allSee = await openSentinels(machine, sentinelPorts, primary.port);

  return {
    url:
      sentinels === 0
        ? primary.url
        : `${machine.scheme}+sentinel://:${password}@${sentinelPorts.map((port) => `127.0.0.1:${port}`).join(',')}/${groupName}`,
    certificateFile: machine.certificateFile,
    primary: () => primary,
    replica: () => replica,
    synced,
    async lag() {
      replica.stop();
      // Data in transit to a suspended process would still arrive.
      await primary.client.client('KILL', 'TYPE', 'REPLICA');
    },
    async failOver(onKilled) {
      const promoted = replica;
      await primary.kill();
      onKilled?.();
      promoted.go();
      await until('the replica is promoted', () => allSee(({ port }) => port === promoted.port));
      [primary, replica] = [replica, primary];
    },
    async comeBack() {
      await replica.restart(primary.port);
      await synced();
    },
    close: machine.close,
  };
}

/** What all processes of a group share. */
interface Machine {
  dir: string;
  scheme: 'redis' | 'rediss';
  certificateFile: string;
  /** The settings of a server or sentinel for this port. */
  listening(port: number): Record<string, string>;
  /** Starts redis-server. */
  start(args: string[]): ChildProcess;
  connect(port: number, options?: object): Redis;
  /** Ends all processes and connections, and removes the files. */
  close(): Promise<void>;
}

async function openMachine(dir: string, tls: boolean): Promise<Machine> {
  const certificateFile = join(dir, 'certificate.pem');
  const keyFile = join(dir, 'key.pem');
  if (tls) await makeCertificate(certificateFile, keyFile);
  const secure = tls ? { tls: { ca: await readFile(certificateFile) } } : {};
  const children = new Set<ChildProcess>();
  const clients = new Set<Redis>();
  return {
    dir,
    scheme: tls ? 'rediss' : 'redis',
    certificateFile,
    listening: (port): Record<string, string> =>
      tls
        ? {
            port: '0',
            'tls-port': String(port),
            'tls-cert-file': certificateFile,
            'tls-key-file': keyFile,
            'tls-ca-cert-file': certificateFile,
            'tls-auth-clients': 'no',
            'tls-replication': 'yes',
          }
        : { port: String(port) },
    start(args) {
      const [command, ...prefix] = [...pdeathsig(), 'redis-server'];
      const child = spawn(command as string, [...prefix, ...args], { stdio: 'ignore' });
      children.add(child);
      child.once('exit', () => children.delete(child));
      return child;
    },
    connect(port, options = { password }) {
      const client = new Redis({
        host: '127.0.0.1',
        port,
        ...options,
        ...secure,
        retryStrategy: () => 50,
        maxRetriesPerRequest: null,
      });
      client.on('error', () => undefined); // the server is down at times
      clients.add(client);
      return client;
    },
    async close() {
      for (const client of clients) client.disconnect();
      await Promise.all([...children].map((child) => ended(child, 'SIGKILL')));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Starts a server, as a primary or as the replica of another. */
async function openNode(
  machine: Machine,
  port: number,
  replicaOf?: number,
): Promise<RedisNode & { restart(replicaOf: number): Promise<void> }> {
  const home = join(machine.dir, String(port));
  await mkdir(home, { recursive: true });
  const startNode = (primaryPort?: number) => {
    const settings = {
      ...machine.listening(port),
      bind: '127.0.0.1',
      dir: home,
      appendonly: 'yes',
      appendfsync: 'always',
      save: '',
      requirepass: password,
      masterauth: password,
      'repl-diskless-sync-delay': '0',
      'repl-ping-replica-period': '1',
      'enable-debug-command': 'local',
      ...(primaryPort && { replicaof: `127.0.0.1 ${primaryPort}` }),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
    return machine.start(args);
  };
  let child = startNode(replicaOf);
  const client = machine.connect(port);
  await client.ping();
  return {
    port,
    url: `${machine.scheme}://:${password}@127.0.0.1:${port}`,
    client,
    process: () => child,
    kill: () => ended(child, 'SIGKILL'),
    stop: () => void child.kill('SIGSTOP'),
    go: () => void child.kill('SIGCONT'),
    async restart(primaryPort) {
      child = startNode(primaryPort);
    },
  };
}

/** What a sentinel knows of the group. */
interface SentinelState {
  /** Port of the primary. */
  port: number;
  replicas: number;
  /** Other sentinels. */
  others: number;
}

/** Starts sentinels for the primary. Returns a function that tests the state of all of them. */
async function openSentinels(
  machine: Machine,
  ports: number[],
  primaryPort: number,
): Promise<(fits: (state: SentinelState) => boolean) => Promise<boolean>> {
  const sentinels = await Promise.all(
    ports.map(async (port) => {
      const file = join(machine.dir, `sentinel-${port}.conf`);
      const lines = [
        ...Object.entries(machine.listening(port)).map((setting) => setting.join(' ')),
        'bind 127.0.0.1',
        `dir ${machine.dir}`,
        `sentinel monitor ${groupName} 127.0.0.1 ${primaryPort} 2`,
        `sentinel auth-pass ${groupName} ${password}`,
        `sentinel down-after-milliseconds ${groupName} ${downAfterMs}`,
        `sentinel failover-timeout ${groupName} 3000`,
      ];
      await writeFile(file, lines.join('\n'));
      machine.start([file, '--sentinel']);
      return machine.connect(port, {});
    }),
  );
  const stateOf = async (sentinel: Redis): Promise<SentinelState> => {
    const flat = (await sentinel.call('SENTINEL', 'MASTER', groupName)) as string[];
    const fields = new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]] as const] : [])));
    return {
      port: Number(fields.get('port')),
      replicas: Number(fields.get('num-slaves')),
      others: Number(fields.get('num-other-sentinels')),
    };
  };
  const allSee = async (fits: (state: SentinelState) => boolean) =>
    (await Promise.all(sentinels.map(stateOf))).every(fits);
  await until('the sentinels know each other', () =>
    allSee(({ replicas, others }) => replicas > 0 && others === ports.length - 1),
  );
  return allSee;
}

/** A self-signed certificate for 127.0.0.1. */
async function makeCertificate(certificateFile: string, keyFile: string): Promise<void> {
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', keyFile, '-out', certificateFile];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await promisify(execFile)('openssl', ['req', '-x509', '-days', '2', ...key, ...names, ...files]);
}

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > end) throw new Error(`${what}: not within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
