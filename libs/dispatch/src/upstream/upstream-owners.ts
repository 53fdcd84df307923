/**
 * Which gateway is connected to an upstream that only one may be connected to: a child process, or a server that keeps state for
 * each thread. The owner renews; when it dies or leaves, another gateway becomes the owner.
 *
 *   own-upstream.lua   takes, renews and releases
 *   gateway-calls.ts   calls from one gateway to another, here to the owner
 */
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['own-upstream'] });

/** An owner that does not renew for this long loses an upstream, ms. */
export const upstreamTtlMs = 10_000;

/** Ownership of upstreams. Every method throws `unavailable` when Redis does not answer. */
export interface UpstreamOwners {
  /** Takes the upstream if it is free, or renews. Returns the gateway that owns it now. */
  own(upstream: string): Promise<string>;
  /** Gives the upstream up, if this gateway owns it. */
  release(upstream: string): Promise<void>;
}

/** `replica`: this gateway. */
export function createUpstreamOwners({
  scripts,
  replica,
}: {
  scripts: Scripts;
  replica: string;
}): UpstreamOwners {
  const call = (upstream: string, release: boolean) =>
    scripts.call<{ owner?: string }>(lua['own-upstream'], {
      upstream,
      replica,
      ttlMs: upstreamTtlMs,
      ...(release && { release }),
    });
  return {
    own: async (upstream) => (await call(upstream, false)).owner as string,
    release: async (upstream) => void (await call(upstream, true)),
  };
}
