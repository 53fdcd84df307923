/**
 * What people wrote into this gateway's folders of agents and skills, published for the workers; and whether the other
 * gateways have the same. All gateways should: sessions get the profiles of one of them, and a client the skills of that
 * gateway which it happens to reach.
 */
import { hostname } from 'node:os';
import { type Dispatch, type OtherFolder, type ProfileFolder, untilReached } from '@harness/dispatch';
import type { Diagnostic } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';

/** What the folders hold. */
export type FolderKind = 'agents' | 'skills';

/** How often the other gateways' folders are looked at, and how long a difference may last before it is reported, ms. */
export interface FolderChecking {
  everyMs: number;
  /** An edit, or a deployment, reaches gateways one after another. */
  graceMs: number;
}
const defaultChecking: FolderChecking = { everyMs: 3_000, graceMs: 10_000 };

/** The folders of this gateway, as the others see them. */
export interface PublishedFolders {
  /** Publishes what was read just now. Resolves when it is known to Redis, however long that is away. */
  publish(
    kind: FolderKind,
    read: Pick<ProfileFolder, 'profiles' | 'digest'> & { directory: string },
  ): Promise<void>;
  /** Says which gateways have other folders, for longer than the time of grace. */
  diagnostics(kind: FolderKind): readonly Diagnostic[];
  /** How many gateways have another folder, for longer than the time of grace. */
  differing(kind: FolderKind): number;
  close(): void;
}

/** One folder, from when it was first read. */
interface Own {
  folder: ProfileFolder;
  directory: string;
  /** Undefined until Redis has heard of this content. */
  since: number | undefined;
  /** When each other content was first seen, by gateway and digest; `performance.now()`. */
  seen: Map<string, number>;
  /** Those that lasted. */
  lasting: OtherFolder[];
}

/** Looks at the other gateways until `close`. */
export function createPublishedFolders(deps: {
  dispatch: Dispatch;
  logger: Logger;
  checking?: FolderChecking | undefined;
}): PublishedFolders {
  const { dispatch, logger } = deps;
  const { everyMs, graceMs } = deps.checking ?? defaultChecking;
  const all = new Map<FolderKind, Own>();
  let closed = false;

  const offer = async (kind: FolderKind, own: Own) => {
    const { since, others } = await dispatch.profiles.publish(kind, own.folder, own.since);
    if (all.get(kind) !== own) return; // read anew meanwhile
    own.since = since;
    const known = own.seen;
    const now = performance.now();
    const idOf = ({ replica, digest }: OtherFolder) => `${replica} ${digest}`;
    own.seen = new Map(others.map((other) => [idOf(other), known.get(idOf(other)) ?? now]));
    const before = new Set(own.lasting.map(idOf));
    own.lasting = others.filter((other) => now - (own.seen.get(idOf(other)) ?? now) >= graceMs);
    const winner = own.lasting.find(({ isPublished }) => isPublished);
    // One line for each difference: by the gateway whose folder has no effect.
    if (winner && !before.has(idOf(winner))) logger.warn(messageOf(kind, own, winner));
  };
  const messageOf = (kind: FolderKind, { folder }: Own, other: OtherFolder) => {
    const here = `This gateway (${dispatch.replicas.id}, ${folder.place})`;
    const there = `gateway ${other.replica} (${other.place})`;
    const whose = other.isPublished
      ? 'Sessions get those of the other gateway'
      : 'Sessions do not get those of the other gateway';
    return `${here} and ${there} have different ${kind}. ${whose}; the gateway that started or read a change last counts.`;
  };

  const timer = setInterval(() => {
    for (const [kind, own] of all) {
      if (own.since === undefined) continue; // still being published
      offer(kind, own).catch((error) => logger.debug({ err: error }, `${kind} not compared`));
    }
  }, everyMs).unref();
  // A Redis that was away may have come back without what was published last.
  const stop = dispatch.replicas.onSignal((signal) => {
    if (signal.kind !== 'missed') return;
    for (const [kind, own] of all) {
      untilReached(
        () => offer(kind, own),
        () => closed || all.get(kind) !== own,
      ).catch((error) => logger.error({ err: error }, `${kind} not published`));
    }
  });

  return {
    async publish(kind, { directory, profiles, digest }) {
      const folder = { profiles, digest, place: `${hostname()}:${directory}` };
      const own: Own = { folder, directory, since: undefined, seen: new Map(), lasting: [] };
      all.set(kind, own);
      await untilReached(
        () => offer(kind, own),
        () => closed,
      );
    },
    diagnostics: (kind) => {
      const own = all.get(kind);
      if (!own) return [];
      return own.lasting.map((other) => ({
        source: own.directory,
        level: 'warning' as const,
        message: messageOf(kind, own, other),
      }));
    },
    differing: (kind) => all.get(kind)?.lasting.length ?? 0,
    close() {
      closed = true;
      clearInterval(timer);
      stop();
    },
  };
}
