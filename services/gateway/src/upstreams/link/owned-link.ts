import { isDeepStrictEqual } from 'node:util';
import { AppError, toAppError } from '@harness/contracts';
import type { Dispatch, GatewayCall } from '@harness/dispatch';
import { maxSubscriptions } from '../connection/connect.ts';
import { createLink, type Link, type LinkDeps, type UpstreamDescription } from './link.ts';
import { createOwnership, renewMs } from './ownership.ts';
import { createRemoteLink, type OwnerQuestion } from './remote-link.ts';

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
  const { replicas, gatewayCalls } = dispatch;
  const upstream = config.name;
  let local: Link | undefined;
  /** The latest description, of here or of the owner: it outlives the connection. */
  let description: UpstreamDescription | undefined;
  let isClosed = false;

  const announce = (kind: 'upstream_described' | 'upstream_released') =>
    replicas
      .broadcast({ kind, upstream })
      .catch((error) => logger.debug({ err: error, upstream }, 'upstream: change not announced'));
  const onDescribedHere = () => {
    description = local?.description ?? description;
    deps.onDescribed();
    void announce('upstream_described');
  };
  const hearOwner = async () => {
    const heard = await remote.hear();
    if (!heard || isClosed || local || isDeepStrictEqual(heard, description)) return;
    description = heard;
    deps.onDescribed();
  };
  const subscribe = async (uri: string) => (local ?? remote).subscribe(uri);
  const watched = createWatched(subscribe);
  const ownership = createOwnership({
    upstream,
    dispatch,
    logger,
    after: deps.after,
    onMine() {
      local ??= createLink({ ...deps, onDescribed: onDescribedHere });
    },
    onNotMine() {
      const leaving = local;
      local = undefined;
      return leaving?.close();
    },
    async onOwner(isNew) {
      if (!local && (isNew || !description)) await hearOwner();
      await watched.follow(ownership.owner);
    },
  });
  const remote = createRemoteLink({
    upstream,
    gatewayCalls,
    owner: () => (ownership.isMine ? undefined : ownership.owner),
    retryAfterMs: renewMs,
  });
  const stop = replicas.onSignal((signal) => {
    if (!('upstream' in signal) || signal.upstream !== upstream || local) return;
    if (signal.kind === 'upstream_released') void ownership.look();
    if (signal.kind === 'upstream_described')
      hearOwner().catch((error) => logger.debug({ err: error, upstream }, 'upstream: not described'));
  });

  return {
    get description() {
      return local?.description ?? description;
    },
    get owner() {
      return ownership.owner;
    },
    status: () => (local ?? remote).status(),
    refresh: async () => (local ? undefined : remote.refresh()),
    async request(request, hooks) {
      if (!local && ownership.owner === undefined) await ownership.look();
      if (local) return local.request(request, hooks);
      try {
        return await remote.request(request, hooks);
      } catch (error) {
        // The owner has changed, and the call was not made.
        if (!(error instanceof AppError) || error.code !== 'lease_lost') throw error;
        await ownership.look();
        return ((local as Link | undefined) ?? remote).request(request, hooks);
      }
    },
    subscribe: (uri) => watched.add(uri),
    reconnect: () => local?.reconnect(),
    endThread: (thread) => local?.endThread(thread),
    async answer(question, call) {
      if (!local) throw new AppError('lease_lost', `${upstream} belongs to another gateway.`);
      return answerFrom(local, question, call);
    },
    async close() {
      isClosed = true;
      stop();
      if (await ownership.close()) await announce('upstream_released');
    },
  };
}

/** Answers the question of another gateway with the link of this one. */
async function answerFrom(link: Link, question: OwnerQuestion, { signal, note }: GatewayCall) {
  switch (question.op) {
    case 'status':
      return link.status();
    case 'describe':
      return { description: link.description ?? null, status: link.status() };
    case 'subscribe':
      await link.subscribe(question.uri);
      return null;
    case 'request':
      return link.request(question.request, {
        signal,
        caller: question.caller,
        onProgress: (progress) => note({ progress }),
        onLog: (log) => note({ log }),
      });
  }
}

/** Resources to be notified of, and the owner that was asked: another one is asked again. */
function createWatched(subscribe: (uri: string) => Promise<void>) {
  const uris = new Set<string>();
  let subscribedAt: string | undefined;
  const subscribeOrForget = (uri: string) =>
    subscribe(uri).catch((error) => {
      // The owner is not there, and the next look tries again; anything else is a refusal of the upstream.
      if (toAppError(error).code !== 'internal') throw error;
      uris.delete(uri);
    });
  return {
    async add(uri: string) {
      if (uris.size < maxSubscriptions) uris.add(uri);
      await subscribe(uri);
    },
    async follow(owner: string | undefined) {
      if (subscribedAt === owner) return;
      await Promise.all([...uris].map(subscribeOrForget));
      subscribedAt = owner;
    },
  };
}
