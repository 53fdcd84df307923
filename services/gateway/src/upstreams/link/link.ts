/**
 * An upstream as the gateway that is connected to it has it: one line for all callers and, for servers that keep state, one for
 * each thread.
 *
 *   line.ts             requests over a connection that heals
 *   healing-connection.ts  when it is opened
 *   breaker.ts          when it is given up
 *   back-off.ts         when it is tried again
 *   refresher.ts        when its lists are read again
 *   request-failure.ts  why a request has failed
 *   call-statistics.ts  how many, how fast
 *   owned-link.ts       a link that only one gateway has; the others ask it
 *   ownership.ts        which gateway that is
 *   remote-link.ts      what the others ask
 */
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@harness/contracts';
import type { Logger } from '@harness/runtime';
import type { ChildSlots, IdleChild } from '../connection/child-slots.ts';
import { type Connection, maxSubscriptions } from '../connection/connect.ts';
import { openConnection } from '../connection/open-connection.ts';
import { type Catalog, readCatalog } from '../connection/read-catalog.ts';
import type { RawResult } from '../connection/request.ts';
import type { UpstreamConfig } from '../file/upstream-config.ts';
import type { UpstreamSandboxes } from '../sandbox/upstream-sandboxes.ts';
import { type CallStatistics, createCallStatistics } from './call-statistics.ts';
import type { LineState } from './healing-connection.ts';
import { createLine, type Line, type LineRequest, type RequestHooks } from './line.ts';
import { createRefresher } from './refresher.ts';

/** A request; `thread` names the caller's thread, for an upstream with a connection for each. */
export interface UpstreamRequest extends LineRequest {
  thread: string;
}

/** What an upstream is and offers, once it was connected. Plain JSON. */
export interface UpstreamDescription {
  era: Connection['era'];
  protocolVersion: string | undefined;
  server: { name: string; version: string } | undefined;
  instructions: string | undefined;
  catalog: Catalog;
}

/** The state of an upstream for operators. Plain JSON. */
export interface LinkStatus extends CallStatistics {
  state: Exclude<LineState, 'idle'>;
  lastError: string | null;
  /** Connections that were lost. */
  losses: number;
  /** Open connections: one, and one for each thread that has its own. */
  connections: number;
}

/** An upstream, connected here or at another gateway. */
export interface Link {
  /** Undefined until it was connected once. */
  readonly description: UpstreamDescription | undefined;
  status(): LinkStatus;
  /** The gateway that is connected, where only one is. */
  readonly owner?: string | undefined;
  /** Asks the owner for its status. Never rejects. */
  refresh?(): Promise<void>;
  /** Rejects with AppError; see `Line.request`. */
  request(request: UpstreamRequest, hooks: RequestHooks): Promise<RawResult>;
  /** Asks for notifications of changes of a resource. */
  subscribe(uri: string): Promise<void>;
  reconnect(): void;
  /** Ends what a thread has of its own. */
  endThread(thread: string): void;
  close(): Promise<void>;
}

/** What a link needs. */
export interface LinkDeps {
  config: UpstreamConfig;
  env: Readonly<Record<string, string | undefined>>;
  children: ChildSlots;
  sandboxes: UpstreamSandboxes;
  scrub(text: string): string;
  logger: Logger;
  /** The description has changed. */
  onDescribed(): void;
  onResourceUpdated(uri: string): void;
}

/** Time for the first answer of a server, ms: many are downloaded by `npx` first. */
const connectMs = 60_000;
/** Time for one page of a list, ms. */
const listMs = 30_000;
/** Connections of threads of one upstream; one without a request for this long is closed, ms. */
const maxThreads = 50;
const idleMs = 30 * 60_000;

/** Creates the link and begins to connect. */
export function createLink(deps: LinkDeps): Link {
  const { config, logger } = deps;
  const { name } = config;
  let description: UpstreamDescription | undefined;
  const statistics = createCallStatistics();
  const lineDeps = {
    name,
    scrub: deps.scrub,
    logger,
    onResourceUpdated: deps.onResourceUpdated,
    open: (events: Parameters<typeof openConnection>[1], signal: AbortSignal) =>
      openConnection(config, events, {
        env: deps.env,
        timeoutMs: connectMs,
        signal,
        children: deps.children,
        sandboxes: deps.sandboxes,
      }),
  };
  const describe = async (connection: Connection, signal: AbortSignal) => {
    const { era, protocolVersion, server, instructions } = connection;
    const catalog = await readCatalog(connection, { maxTools: config.maxTools, timeoutMs: listMs, signal });
    const now = { era, protocolVersion, server, instructions, catalog };
    if (isDeepStrictEqual(now, description)) return;
    description = now;
    deps.onDescribed();
  };
  const watched = new Set<string>();
  const main = createLine({
    ...lineDeps,
    isKept: true,
    async prepare(connection, signal) {
      await describe(connection, signal);
      for (const uri of watched) connection.subscribe(uri).catch(() => watched.delete(uri));
    },
    onListChanged: () => refresher.changed(),
  });
  const closing = new AbortController();
  const refresher = createRefresher(async () => {
    const { connection } = main;
    if (!connection) return;
    await describe(connection, closing.signal).catch((error: Error) =>
      logger.warn({ upstream: name, error: deps.scrub(error.message) }, 'upstream: lists not read'),
    );
  });
  const threads = createThreadLines(() => createLine({ ...lineDeps, isKept: false }), name);
  const withdraw = config.kind === 'stdio' ? deps.children.offer(threads.longestIdle) : () => undefined;
  main.start();

  return {
    get description() {
      return description;
    },
    status: () => ({
      state: main.state === 'idle' ? 'waiting' : main.state,
      lastError: main.lastError ?? null,
      losses: main.losses,
      connections: (main.connection ? 1 : 0) + threads.count(),
      ...statistics.read(),
    }),
    async request(request, hooks) {
      const begunAt = performance.now();
      let isFailure = true;
      try {
        const line =
          config.scope === 'thread' && request.thread !== '' ? threads.lineOf(request.thread) : main;
        const result = await line.request(request, hooks);
        isFailure = result.isError === true;
        return result;
      } finally {
        statistics.ended(performance.now() - begunAt, isFailure);
      }
    },
    async subscribe(uri) {
      if (watched.size < maxSubscriptions) watched.add(uri);
      await main.connection?.subscribe(uri);
    },
    reconnect() {
      threads.closeAll();
      main.reconnect();
    },
    endThread: threads.end,
    async close() {
      closing.abort();
      refresher.close();
      withdraw();
      await Promise.all([main.close(), threads.close()]);
    },
  };
}

/** The lines of threads: bounded, closed when they are idle. */
function createThreadLines(create: () => Line, name: string) {
  const lines = new Map<string, { line: Line; losses: number }>();
  const drop = (thread: string) => {
    const found = lines.get(thread);
    lines.delete(thread);
    return found?.line.close();
  };
  const isIdle = ({ open, usedAt }: Line, forMs: number) => open === 0 && performance.now() - usedAt > forMs;
  const timer = setInterval(() => {
    for (const [thread, { line }] of lines) if (isIdle(line, idleMs)) void drop(thread);
  }, 60_000).unref();
  const makeRoom = () => {
    if (lines.size < maxThreads) return;
    const oldest = longestIdleOf(() => true);
    if (!oldest)
      throw new AppError(
        'limit_reached',
        `${name} serves ${maxThreads} threads at the same time. Try again later.`,
      );
    void drop(oldest[0]);
  };
  const longestIdleOf = (isChosen: (line: Line) => boolean) =>
    [...lines]
      .filter(([, { line }]) => line.open === 0 && isChosen(line))
      .sort(([, one], [, other]) => one.line.usedAt - other.line.usedAt)[0];
  return {
    count: () => [...lines.values()].filter(({ line }) => line.connection).length,
    /** The thread's line. Throws `plugin_unavailable` once after its state was lost, so that the caller knows. */
    lineOf(thread: string): Line {
      const known = lines.get(thread);
      if (!known) {
        makeRoom();
        const line = create();
        lines.set(thread, { line, losses: 0 });
        return line;
      }
      if (known.line.losses === known.losses) return known.line;
      known.losses = known.line.losses;
      throw new AppError(
        'plugin_unavailable',
        `${name} was started anew: what it held for this thread is lost, and this call was not made. Begin again.`,
      );
    },
    longestIdle(): IdleChild | undefined {
      const [thread, found] = longestIdleOf(({ connection }) => connection !== undefined) ?? [];
      if (thread === undefined || !found) return undefined;
      return { idleSince: found.line.usedAt, end: async () => drop(thread) };
    },
    end: (thread: string) => void drop(thread),
    closeAll() {
      for (const thread of [...lines.keys()]) void drop(thread);
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...lines.keys()].map(drop));
    },
  };
}
