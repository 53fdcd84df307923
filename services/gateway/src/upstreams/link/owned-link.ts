import { isDeepStrictEqual } from 'node:util';
import { AppError, toAppError } from '@harness/contracts';
import { type Dispatch, type GatewayCall, upstreamTtlMs } from '@harness/dispatch';
import { maxSubscriptions } from '../connection/connect.ts';
import type { RawResult } from '../connection/request.ts';
import { createCallStatistics } from './call-statistics.ts';
import type { RequestHooks } from './line.ts';
import {
  createLink,
  type Link,
  type LinkDeps,
  type LinkStatus,
  type UpstreamDescription,
  type UpstreamRequest,
} from './link.ts';

/** The topic of calls to the owner of an upstream. */
export const upstreamTopic = 'upstream';

/** How often ownership is renewed and looked at, ms. */
const renewMs = 3_000;
/** Longest wait for the owner's status, ms. */
const statusMs = 2_000;

/** What a gateway asks the owner of an upstream. */
export type OwnerQuestion = { upstream: string } & (
  | { op: 'describe' }
  | { op: 'status' }
  | { op: 'subscribe'; uri: string }
  | { op: 'request'; request: UpstreamRequest; caller: string }
);
type OwnerNote = { progress: RawResult } | { log: RawResult };

/** A link with an owner. */
export interface OwnedLink extends Link {
  /** Answers another gateway. Rejects with `lease_lost` when this gateway is not the owner. */
  answer(question: OwnerQuestion, call: GatewayCall): Promise<unknown>;
}

/** What a link with an owner needs. */
export interface OwnedLinkDeps extends LinkDeps {
  dispatch: Dispatch;
  /** The end of an earlier link of this gateway to the same upstream, which gives up what this one is to own. */
  after?: Promise<unknown> | undefined;
}

/**
 * A link to an upstream that only one gateway is connected to: a child process, or a server that keeps state for threads. The
 * gateway that owns it (a lease in Redis) has the connection; the others ask it. When the owner dies, another gateway connects;
 * what the upstream held is lost then, as with a crash of its own.
 */
export function createOwnedLink(deps: OwnedLinkDeps): OwnedLink {
  const { dispatch, logger, config } = deps;
  const { replicas, upstreamOwners, gatewayCalls } = dispatch;
  const upstream = config.name;
  const statistics = createCallStatistics();
  let local: Link | undefined;
  let owner: string | undefined;
  let description: UpstreamDescription | undefined;
  let told: Pick<LinkStatus, 'state' | 'lastError' | 'losses' | 'connections'> | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const announce = (kind: 'upstream_described' | 'upstream_released') =>
    replicas
      .broadcast({ kind, upstream })
      .catch((error) => logger.debug({ err: error, upstream }, 'upstream: change not announced'));
  const connectHere = () => {
    local ??= createLink({
      ...deps,
      onDescribed() {
        description = local?.description ?? description;
        deps.onDescribed();
        void announce('upstream_described');
      },
    });
  };
  const leaveHere = () => {
    const leaving = local;
    local = undefined;
    return leaving?.close();
  };
  const askOwner = (question: OwnerQuestion, hooks: Parameters<typeof gatewayCalls.ask>[2] = {}) => {
    if (owner === undefined || owner === replicas.id)
      throw new AppError('plugin_unavailable', `${upstream} is not connected yet.`, {
        retryAfterMs: renewMs,
      });
    return gatewayCalls.ask(owner, { topic: upstreamTopic, question }, hooks);
  };
  const hearDescription = async () => {
    const heard = (await askOwner({ upstream, op: 'describe' })) as {
      description: UpstreamDescription | null;
      status: LinkStatus;
    };
    told = heard.status;
    if (!heard.description || isClosed || local || isDeepStrictEqual(heard.description, description)) return;
    description = heard.description;
    deps.onDescribed();
  };
  /** Resources to be notified of, and the owner that knows: another one is asked again. */
  const watched = new Set<string>();
  let subscribedAt: string | undefined;
  const subscribeAtOwner = async (uri: string) => {
    if (local) await local.subscribe(uri);
    else await askOwner({ upstream, op: 'subscribe', uri });
  };
  const subscribeAgain = async () => {
    if (subscribedAt === owner) return;
    const at = owner;
    const subscribeOrForget = (uri: string) =>
      subscribeAtOwner(uri).catch((error) => {
        // The owner is not there, and the next look tries again; anything else is a refusal of the upstream.
        if (toAppError(error).code !== 'internal') throw error;
        watched.delete(uri);
      });
    await Promise.all([...watched].map(subscribeOrForget));
    subscribedAt = at;
  };
  let looking: Promise<void> | undefined;
  /** Takes, renews or notices the ownership; at most one at a time. */
  const look = () => {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const lookOnce = async () => {
    await deps.after;
    if (isClosed) return;
    const askedAt = performance.now();
    try {
      const before = owner;
      owner = await upstreamOwners.own(upstream);
      if (isClosed) return;
      if (owner === replicas.id) {
        renewedAt = askedAt;
        connectHere();
      } else {
        await leaveHere();
        if (owner !== before || !description) await hearDescription();
      }
      await subscribeAgain();
    } catch (error) {
      logger.debug({ err: error, upstream }, 'upstream: its owner is not known');
      // Another gateway may own it by now.
      if (local && performance.now() - renewedAt > upstreamTtlMs) await leaveHere();
    }
  };
  const timer = setInterval(() => void look(), renewMs).unref();
  const stop = replicas.onSignal((signal) => {
    if (!('upstream' in signal) || signal.upstream !== upstream) return;
    if (signal.kind === 'upstream_released' && !local) void look();
    if (signal.kind === 'upstream_described' && !local)
      hearDescription().catch((error) => logger.debug({ err: error, upstream }, 'upstream: not described'));
  });
  void look();

  const remote = async (request: UpstreamRequest, { signal, caller, ...heard }: RequestHooks) => {
    const onNote = (note: unknown) => {
      const one = note as OwnerNote;
      if ('progress' in one) heard.onProgress?.(one.progress);
      else heard.onLog?.(one.log);
    };
    const question: OwnerQuestion = { upstream, op: 'request', request, caller };
    const begunAt = performance.now();
    let isFailure = true;
    try {
      const result = (await askOwner(question, { signal, onNote })) as RawResult;
      isFailure = result.isError === true;
      return result;
    } finally {
      statistics.ended(performance.now() - begunAt, isFailure);
    }
  };

  return {
    get description() {
      return local?.description ?? description;
    },
    get owner() {
      return owner;
    },
    status() {
      if (local) return local.status();
      const { state = 'connecting', lastError = null, losses = 0, connections = 0 } = told ?? {};
      return { state, lastError, losses, connections, ...statistics.read() };
    },
    async refresh() {
      if (local) return;
      const signal = AbortSignal.timeout(statusMs);
      await (async () => {
        told = (await askOwner({ upstream, op: 'status' }, { signal })) as LinkStatus;
      })().catch(() => undefined);
    },
    async request(request, hooks) {
      if (local) return local.request(request, hooks);
      if (owner === undefined) await look();
      if (local) return (local as Link).request(request, hooks);
      try {
        return await remote(request, hooks);
      } catch (error) {
        // The owner has changed, and the call was not made.
        if (!(error instanceof AppError) || error.code !== 'lease_lost') throw error;
        await look();
        return local ? (local as Link).request(request, hooks) : remote(request, hooks);
      }
    },
    async subscribe(uri) {
      if (watched.size < maxSubscriptions) watched.add(uri);
      await subscribeAtOwner(uri);
    },
    reconnect: () => local?.reconnect(),
    endThread: (thread) => local?.endThread(thread),
    async answer(question, { signal, note }) {
      if (!local) throw new AppError('lease_lost', `${upstream} belongs to another gateway.`);
      if (question.op === 'status') return local.status();
      if (question.op === 'describe')
        return { description: local.description ?? null, status: local.status() };
      if (question.op === 'subscribe') {
        await local.subscribe(question.uri);
        return null;
      }
      return local.request(question.request, {
        signal,
        caller: question.caller,
        onProgress: (progress) => note({ progress }),
        onLog: (log) => note({ log }),
      });
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      stop();
      await looking;
      await leaveHere();
      if (owner !== replicas.id) return;
      await upstreamOwners.release(upstream).catch(() => undefined); // it expires anyway
      await announce('upstream_released');
    },
  };
}
