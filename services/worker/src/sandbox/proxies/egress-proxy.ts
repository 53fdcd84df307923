import { lookup } from 'node:dns/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { BlockList, connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@harness/runtime';

/** The HTTP proxy, on a socket, through which one sandbox reaches the hosts that the operator allows. */
export interface EgressProxy {
  readonly socketPath: string;
  /** Connections are made between `open` and `shut` only; `shut` ends those that are left. */
  open(): void;
  shut(): void;
  close(): Promise<void>;
}

/** Where connections may go. */
export interface EgressRules {
  /** Host names; `*.example.com` = every name below it. */
  hosts: readonly string[];
  /** Replaced by tests, since no name of this machine is public. */
  resolve?: ((host: string) => Promise<string[]>) | undefined;
  isPublic?: ((address: string) => boolean) | undefined;
  ports?: readonly number[];
}

/** Hop-by-hop headers (RFC 9110), which a proxy does not pass on; `host` is set anew. */
const ofThisHop = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect)$/;
/** The ports of web servers. */
const webPorts = [80, 443];
const maxConnections = 64;
/** A connection without a byte for this long ends, ms. */
const idleMs = 120_000;
const connectMs = 15_000;

/** Addresses that are not of the public internet. */
const ranges4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
// Ranges that embed an IPv4 address in an IPv6 one are refused as a whole.
const ranges6 = [
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/** A list for each family: one list would also compare an IPv4 address as IPv6. */
const listOf = (ranges: readonly string[], family: 'ipv4' | 'ipv6') => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
};
const notPublic = { ipv4: listOf(ranges4, 'ipv4'), ipv6: listOf(ranges6, 'ipv6') };

/** Whether an address is one of the public internet. */
export const isPublicAddress = (address: string): boolean => {
  const version = isIP(address);
  const family = version === 6 ? 'ipv6' : 'ipv4';
  return version !== 0 && !notPublic[family].check(address, family);
};

/** Whether a host is one of those, or below one with `*.`. */
export const isHostAllowed = (host: string, hosts: readonly string[]): boolean => {
  const name = host.toLowerCase().replace(/\.$/, '');
  return hosts.some((one) => {
    const allowed = one.toLowerCase();
    return allowed.startsWith('*.')
      ? name.endsWith(allowed.slice(1)) && name !== allowed.slice(2)
      : name === allowed;
  });
};

const resolveAll = async (host: string) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Returns the address to connect to: the host is looked up once, all its addresses must be public, and the connection goes to the
 * address that was checked. Throws with the reason.
 */
export async function addressFor(
  { host, port }: { host: string; port: number },
  { hosts, resolve = resolveAll, isPublic = isPublicAddress, ports = webPorts }: EgressRules,
): Promise<string> {
  if (!isHostAllowed(host, hosts)) throw new Error(`${host} is not among HARNESS_EGRESS`);
  if (!ports.includes(port)) throw new Error(`port ${port} is not one of ${ports.join(', ')}`);
  const addresses = isIP(host) ? [host] : await resolve(host);
  const [first] = addresses;
  if (first === undefined || !addresses.every(isPublic))
    throw new Error(`${host} has an address that is not public`);
  return first;
}

/** Opens the proxy of a sandbox. */
export async function openEgressProxy(
  socketPath: string,
  rules: EgressRules,
  logger: Logger,
): Promise<EgressProxy> {
  let isOpen = false;
  const ends = new Set<Duplex>();
  const track = (socket: Duplex) => {
    ends.add(socket);
    socket.once('close', () => ends.delete(socket));
    socket.on('error', () => socket.destroy());
  };
  const reach = async (target: { host: string; port: number }): Promise<Socket> => {
    if (!isOpen) throw new Error('no turn is in progress');
    const address = await addressFor(target, rules);
    const socket = connect({ host: address, port: target.port, timeout: connectMs });
    track(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
      socket.once('timeout', () => socket.destroy(new Error(`${target.host} does not respond`)));
    });
    socket.setTimeout(idleMs, () => socket.destroy());
    return socket;
  };
  const refusal = (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    logger.info({ reason }, 'a sandbox asked for a host that it may not reach');
    return `The sandbox does not reach this host: ${reason}.\n`;
  };

  // A plain HTTP request is passed on in origin form, on a connection of its own.
  const server = createServer((request, response) => {
    const target = targetIn(request);
    const pass = async () => {
      if (!target) throw new Error('only absolute http addresses are passed on');
      const socket = await reach(target);
      const passed = Object.entries(request.headers).filter(([name]) => !ofThisHop.test(name));
      const headers = { ...Object.fromEntries(passed), host: target.authority, connection: 'close' };
      const { path } = target;
      const outgoing = httpRequest({ createConnection: () => socket, method: request.method, path, headers });
      outgoing.on('error', () => response.destroy());
      outgoing.on('response', (incoming) => {
        const kept = Object.entries(incoming.headers).filter(([name]) => !ofThisHop.test(name));
        response.writeHead(incoming.statusCode ?? 502, Object.fromEntries(kept) as Record<string, string>);
        incoming.pipe(response);
      });
      response.on('close', () => socket.destroy());
      request.pipe(outgoing);
    };
    pass().catch((error) => response.writeHead(403, { connection: 'close' }).end(refusal(error)));
  });
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    track(client);
    const [, host = '', port = ''] = /^\[?([^\]]*)\]?:(\d+)$/.exec(request.url ?? '') ?? [];
    reach({ host, port: Number(port) }).then(
      (socket) => {
        client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        if (head.length > 0) socket.write(head);
        socket.pipe(client);
        client.pipe(socket);
      },
      (error) => client.end(`HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n${refusal(error)}`),
    );
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, resolve);
  });
  const endAll = () => {
    for (const socket of ends) socket.destroy();
  };
  return {
    socketPath,
    open() {
      isOpen = true;
    },
    shut() {
      isOpen = false;
      endAll();
    },
    async close() {
      isOpen = false;
      endAll();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Target {
  host: string;
  port: number;
  /** As the header `host` names it. */
  authority: string;
  path: string;
}

function targetIn({ url = '' }: IncomingMessage): Target | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, host: authority, hostname, port, pathname, search } = new URL(url);
  if (protocol !== 'http:') return undefined;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    authority,
    path: pathname + search,
  };
}
