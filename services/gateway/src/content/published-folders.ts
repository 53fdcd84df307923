/**
 * Publishes this gateway's folders of agents and skills to the workers, and compares them with those of the
 * other gateways. All should be equal: sessions get the profiles that one gateway published, but a client
 * gets the skills of the gateway that it reaches.
 */
import { hostname } from 'node:os';
import { type Dispatch, type OtherFolder, type ProfileFolder, untilReached } from '@harness/dispatch';
import type { Diagnostic } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';

/** The kinds of folder. */
export type FolderKind = 'agents' | 'skills';

/** How often folders are compared, and how long a difference may last before it is reported. */
export interface FolderChecking {
  everyMs: number;
  /** Not 0: an edit or a deployment reaches gateways one after another. */
  graceMs: number;
}
const defaultChecking: FolderChecking = { everyMs: 3_000, graceMs: 10_000 };

/** The folders of this gateway, as the others see them. */
export interface PublishedFolders {
  /** Publishes a folder as just read. Resolves when Redis has it; retries while Redis is unreachable. */
  publish(
    kind: FolderKind,
    read: Pick<ProfileFolder, 'profiles' | 'digest'> & { directory: string },
  ): Promise<void>;
  /** A warning for each gateway whose folder has differed for longer than the grace period. */
  diagnostics(kind: FolderKind): readonly Diagnostic[];
  /** The number of those gateways. */
  differing(kind: FolderKind): number;
  close(): void;
}

/** One version of one folder of this gateway. */
interface Own {
  folder: ProfileFolder;
  directory: string;
  /** When this version was published; undefined until then. */
  since: number | undefined;
  /** When each differing folder was first seen (`performance.now()`), by gateway and digest. */
  seen: Map<string, number>;
  /** Those that have differed for longer than the grace period. */
  lasting: OtherFolder[];
}

/** Creates the publisher; it compares folders until `close`. */
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
    if (all.get(kind) !== own) return; // a newer version was read meanwhile
    own.since = since;
    const known = own.seen;
    const now = performance.now();
    const idOf = ({ replica, digest }: OtherFolder) => `${replica} ${digest}`;
    own.seen = new Map(others.map((other) => [idOf(other), known.get(idOf(other)) ?? now]));
    const before = new Set(own.lasting.map(idOf));
    own.lasting = others.filter((other) => now - (own.seen.get(idOf(other)) ?? now) >= graceMs);
    const winner = own.lasting.find(({ isPublished }) => isPublished);
    // Logged once per difference, by the gateway whose folder is not in effect.
    if (winner && !before.has(idOf(winner))) logger.warn(messageOf(kind, own, winner));
  };
  const messageOf = (kind: FolderKind, { folder }: Own, other: OtherFolder) => {
    const here = `This gateway (${dispatch.replicas.id}, ${folder.place})`;
    const there = `gateway ${other.replica} (${other.place})`;
    const whose = other.isPublished
      ? `Sessions use the ${kind} of the other gateway`
      : `Sessions do not use the ${kind} of the other gateway`;
    return `${here} and ${there} have different ${kind}. ${whose}; the gateway that started or read a change last wins. Give all gateways the same folder.`;
  };

  const timer = setInterval(() => {
    for (const [kind, own] of all) {
      if (own.since === undefined) continue; // still being published
      offer(kind, own).catch((error) => logger.debug({ err: error }, `${kind} not compared`));
    }
  }, everyMs).unref();
  // After an outage Redis may have lost what was published last: publish again.
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
