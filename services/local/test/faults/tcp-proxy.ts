/**
 * A network that can fail, between a Redis and its clients.
 *
 *   pass        everything passes
 *   latency     every chunk, in both directions, is delayed by a random part of `ms`
 *   blackhole   nothing passes, without an error; new connections are accepted and stay silent. Existing
 *               connections stay silent for ever, as after a lost NAT entry
 */
import { createServer, connect as dial, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import type { Random } from './random.ts';
import { createCommandReader } from './resp.ts';

export type Mode = { kind: 'pass' } | { kind: 'latency'; ms: number } | { kind: 'blackhole' };

export interface RedisProxy {
  /** redis:// of the proxy. */
  url: string;
  mode(mode: Mode): void;
  /** Ends every connection with a reset. */
  reset(): void;
  /** Connections that exist now become silent for ever; new ones work. */
  halfOpen(): void;
  /**
   * Redis executes the next `times` matching commands, but their replies are lost: the connection is reset instead.
   * Resolves with the number of lost replies once all are, or after `limitMs`.
   */
  dropReplies(fits: (args: string[]) => boolean, times: number, limitMs: number): Promise<number>;
  connections(): number;
  close(): Promise<void>;
}

/** Time that Redis has for a command whose reply is dropped, ms. */
const executionMs = 20;

interface Drop {
  fits(args: string[]): boolean;
  left: number;
  dropped(): void;
}

interface Link {
  client: Socket;
  upstream: Socket;
  mute: boolean;
}

/** `target` is redis://host:port or unix:///path. */
export async function openProxy({ target, random }: { target: string; random: Random }): Promise<RedisProxy> {
  const links = new Set<Link>();
  const drops = new Set<Drop>();
  let mode: Mode = { kind: 'pass' };

  const isCaught = (args: string[]): boolean => {
    for (const drop of drops) {
      if (drop.left === 0 || !drop.fits(args)) continue;
      drop.left--;
      drop.dropped();
      return true;
    }
    return false;
  };

  const server = createServer((client) => {
    const upstream = dial(targetOf(target));
    const link: Link = { client, upstream, mute: mode.kind === 'blackhole' };
    links.add(link);
    const cut = () => {
      client.resetAndDestroy();
      upstream.destroy();
      links.delete(link);
    };
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', cut);
      socket.on('close', cut);
    }
    const reader = createCommandReader();
    const up = createLane(upstream, () => mode, random);
    const down = createLane(client, () => mode, random);
    client.on('data', (chunk) => {
      const commands = reader.feed(chunk); // always, to keep the parser in sync
      if (link.mute) return;
      const caught = commands.find(({ args }) => isCaught(args));
      if (!caught) return up(chunk);
      link.mute = true;
      up(chunk.subarray(0, caught.end));
      setTimeout(cut, executionMs);
    });
    upstream.on('data', (chunk) => {
      if (!link.mute) down(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const mute = () => {
    for (const link of links) link.mute = true;
  };
  return {
    url: `redis://127.0.0.1:${portOf(server)}`,
    mode(next) {
      mode = next;
      if (next.kind === 'blackhole') mute();
    },
    reset() {
      for (const { client } of links) client.resetAndDestroy();
    },
    halfOpen: mute,
    async dropReplies(fits, times, limitMs) {
      let dropped = 0;
      const { promise: all, resolve } = Promise.withResolvers<void>();
      const drop: Drop = {
        fits,
        left: times,
        dropped() {
          dropped++;
          if (dropped === times) resolve();
        },
      };
      drops.add(drop);
      await Promise.race([all, after(limitMs, undefined, { ref: false })]);
      drops.delete(drop);
      return dropped;
    },
    connections: () => links.size,
    async close() {
      for (const { client, upstream } of links) {
        client.destroy();
        upstream.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One direction: delayed chunks keep their order. */
function createLane(to: Socket, mode: () => Mode, random: Random): (chunk: Buffer) => void {
  const waiting: { chunk: Buffer; due: number }[] = [];
  const flush = () => {
    for (;;) {
      const [next] = waiting;
      if (!next) return;
      const waitMs = next.due - performance.now();
      if (waitMs > 0) return void setTimeout(flush, Math.ceil(waitMs));
      to.write(next.chunk);
      waiting.shift();
    }
  };
  return (chunk) => {
    const now = mode();
    const delayMs = now.kind === 'latency' ? random.upTo(now.ms) : 0;
    waiting.push({ chunk, due: performance.now() + delayMs });
    if (waiting.length === 1) flush(); // otherwise a timer runs for those before it
  };
}

function targetOf(target: string): NetConnectOpts {
  const url = new URL(target);
  return url.protocol === 'unix:' ? { path: url.pathname } : { host: url.hostname, port: Number(url.port) };
}

const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
};
