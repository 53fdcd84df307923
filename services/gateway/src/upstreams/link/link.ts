/**
 * An upstream as the gateway that is connected to it has it: one channel for all callers and, for servers that keep state, one for
 * each thread.
 *
 *   channel.ts                   requests over a connection that is opened again
 *   reconnecting-connection.ts   when it is opened, and opened again
 *   breaker.ts                   when it is given up
 *   back-off.ts                  when it is tried again
 *   thread-channels.ts           the channels of threads
 *   session-marks.ts             which threads had one, also before this gateway
 *   refresher.ts                 when its lists are read again
 *   request-failure.ts           why a request has failed
 *   call-statistics.ts           how many, how fast
 *   owned-link.ts                a link that only one gateway has; the others ask it
 *   ownership.ts                 which gateway that is
 *   remote-link.ts               what the others ask
 */
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@harness/contracts';
import type { PluginStore } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { ChildSlots } from '../connection/child-slots.ts';
import { type Connection, maxSubscriptions } from '../connection/connect.ts';
import { openConnection } from '../connection/open-connection.ts';
import { type Catalog, readCatalog } from '../connection/read-catalog.ts';
import type { RawResult } from '../connection/request.ts';
import type { UpstreamConfig } from '../file/upstream-config.ts';
import type { UpstreamSandboxes } from '../sandbox/upstream-sandboxes.ts';
import type { UpstreamScrubber } from '../secrets/upstream-scrubber.ts';
import { type CallStatistics, createCallStatistics } from './call-statistics.ts';
import { type ChannelRequest, createChannel, type RequestHooks } from './channel.ts';
import type { ChannelState } from './reconnecting-connection.ts';
import { createRefresher } from './refresher.ts';
import { openSessionMarks } from './session-marks.ts';
import { createThreadChannels } from './thread-channels.ts';

/** A request; `thread` names the caller's thread, for an upstream with a connection for each. */
export interface UpstreamRequest extends ChannelRequest {
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
  state: Exclude<ChannelState, 'idle'>;
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
  /** Rejects with AppError; see `Channel.request`. Errors, failed results and log lines have no secret of the upstream. */
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
  scrubber: UpstreamScrubber;
  /** Where it is kept which threads have sessions. */
  sessions: Pick<PluginStore, 'get' | 'set'>;
  logger: Logger;
  /** The description has changed. */
  onDescribed(): void;
  onResourceUpdated(uri: string): void;
}

/** Time for the first answer of a server, ms: many are downloaded by `npx` first. */
const connectMs = 60_000;
/** Time for one page of a list, ms. */
const listMs = 30_000;

/** Creates the link and begins to connect. */
export function createLink(deps: LinkDeps): Link {
  const { config, logger, scrubber } = deps;
  const { name } = config;
  let description: UpstreamDescription | undefined;
  const statistics = createCallStatistics();
  const watched = new Set<string>();
  const channelDeps = {
    name,
    scrub: scrubber.json,
    logger,
    // Each one is announced to the fleet.
    onResourceUpdated: (uri: string) => watched.has(uri) && deps.onResourceUpdated(uri),
    open: (events: Parameters<typeof openConnection>[1], signal: AbortSignal) =>
      openConnection(config, events, {
        env: deps.env,
        timeoutMs: connectMs,
        signal,
        children: deps.children,
        sandboxes: deps.sandboxes,
        onToken: scrubber.learn,
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
  const main = createChannel({
    ...channelDeps,
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
      logger.warn({ upstream: name, error: scrubber.json(error.message) }, 'upstream: lists not read'),
    );
  });
  const threads = createThreadChannels({
    name,
    create: () => createChannel({ ...channelDeps, isKept: false }),
    marks: openSessionMarks(deps.sessions, name),
  });
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
        const channel =
          config.scope === 'thread' && request.thread !== '' ? await threads.channelOf(request.thread) : main;
        const onLog = hooks.onLog && ((params: RawResult) => hooks.onLog?.(scrubber.json(params)));
        const result = await channel.request(request, { ...hooks, onLog });
        isFailure = result.isError === true;
        return isFailure ? scrubber.json(result) : result;
      } catch (error) {
        throw scrubber.error(error);
      } finally {
        statistics.ended(performance.now() - begunAt, isFailure);
      }
    },
    async subscribe(uri) {
      if (watched.size < maxSubscriptions) watched.add(uri);
      await main.connection?.subscribe(uri).catch((error: Error) => {
        throw new AppError('tool_failed', scrubber.json(`${name}: ${error.message}`));
      });
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
