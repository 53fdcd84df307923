import { AppError } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import type { RawResult } from '../connection/request.ts';
import { createCallStatistics } from './call-statistics.ts';
import type { RequestHooks } from './channel.ts';
import type { Link, LinkStatus, UpstreamDescription, UpstreamRequest } from './link.ts';

/** The topic of calls to the owner of an upstream. */
export const upstreamTopic = 'upstream';

/** Longest wait for the owner's status, ms. */
const statusMs = 2_000;

/** What a gateway asks the owner of an upstream. */
export type OwnerQuestion = { upstream: string } & (
  | { op: 'describe' }
  | { op: 'status' }
  | { op: 'subscribe'; uri: string }
  | { op: 'request'; request: UpstreamRequest; caller: string }
);
/** What the owner sends while it works on a request. */
export type OwnerNote = { progress: RawResult } | { log: RawResult };

/** An upstream that another gateway is connected to. */
export interface RemoteLink extends Pick<Link, 'status' | 'request' | 'subscribe'> {
  /** Asks the owner for its status and its description; undefined: it was not connected yet. */
  hear(): Promise<UpstreamDescription | undefined>;
  /** Asks the owner for its status. Never rejects. */
  refresh(): Promise<void>;
}

/** What a remote link needs. */
export interface RemoteLinkDeps {
  upstream: string;
  gatewayCalls: Dispatch['gatewayCalls'];
  /** The owner, if it is known and is another gateway. */
  owner(): string | undefined;
  /** When it is worth asking again, ms. */
  retryAfterMs: number;
}

/** Creates the link. Its methods reject with `plugin_unavailable` while no owner is known. */
export function createRemoteLink({ upstream, gatewayCalls, ...deps }: RemoteLinkDeps): RemoteLink {
  const statistics = createCallStatistics();
  let heard: LinkStatus | undefined;
  const ask = async (question: OwnerQuestion, hooks: Parameters<typeof gatewayCalls.ask>[2] = {}) => {
    const owner = deps.owner();
    if (owner === undefined)
      throw new AppError('plugin_unavailable', `${upstream} is not connected yet.`, {
        retryAfterMs: deps.retryAfterMs,
      });
    return gatewayCalls.ask(owner, { topic: upstreamTopic, question }, hooks);
  };
  return {
    async hear() {
      const answer = (await ask({ upstream, op: 'describe' })) as {
        description: UpstreamDescription | null;
        status: LinkStatus;
      };
      heard = answer.status;
      return answer.description ?? undefined;
    },
    async refresh() {
      const signal = AbortSignal.timeout(statusMs);
      heard = await ask({ upstream, op: 'status' }, { signal }).then(
        (status) => status as LinkStatus,
        () => heard,
      );
    },
    status() {
      const { state = 'connecting', lastError = null, losses = 0, connections = 0 } = heard ?? {};
      return { state, lastError, losses, connections, ...statistics.read() };
    },
    async request(request, { signal, caller, ...hooks }: RequestHooks) {
      const onNote = (note: unknown) => {
        const one = note as OwnerNote;
        if ('progress' in one) hooks.onProgress?.(one.progress);
        else hooks.onLog?.(one.log);
      };
      const begunAt = performance.now();
      let isFailure = true;
      try {
        const question: OwnerQuestion = { upstream, op: 'request', request, caller };
        const result = (await ask(question, { signal, onNote })) as RawResult;
        isFailure = result.isError === true;
        return result;
      } finally {
        statistics.ended(performance.now() - begunAt, isFailure);
      }
    },
    async subscribe(uri) {
      await ask({ upstream, op: 'subscribe', uri });
    },
  };
}
