import { randomUUID } from 'node:crypto';
import type { SessionPath } from '@harness/contracts';
import { createGate, type TranscriptStore } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import type { Enclosure } from '../sandbox/enclosure.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import type { SkillFolder } from '../workspace/skill-folders.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { OnTranscript, Session } from './session.ts';
import type { SessionHomes } from './session-home.ts';
import type { SessionProcess, SessionProfile } from './session-options.ts';
import { startSession } from './start-session.ts';

/** A request for a session process. */
export interface OpenRequest {
  /** Prefix of its folder's name, for debugging. */
  name: string;
  profile: SessionProfile;
  /** Id of a stored conversation to resume; undefined = a new one. */
  resume?: string | undefined;
  /** Thread token for /mcp; undefined = no tool server. */
  token?: string | undefined;
  /** The store of its transcript; 'later' for a spare; undefined = not stored. */
  store?: TranscriptStore | 'later' | undefined;
  onTranscript?: OnTranscript | undefined;
  /** The skills of its tenant, for a session with built-in tools. */
  skills?: SkillFolder | undefined;
  /** The files of its thread, for a session with built-in tools. */
  workspace?: Workspace | undefined;
}

/** A session that has started, and how. */
export interface Opened {
  session: Session;
  path: SessionPath;
  /** Whether it searches for its tools, as in its profile. */
  searches?: boolean | undefined;
}

/** Starts a session. Throws `session_failed`. */
export type OpenSession = (request: OpenRequest) => Promise<Opened>;

/**
 * Creates the opener: starts session processes, at most `startsAtOnce` at the same time, and tracks all that
 * live.
 */
export function createSessionOpener(deps: {
  homes: SessionHomes;
  /** Absent: this worker has no workspaces. */
  sandboxes: Sandboxes | undefined;
  mcpUrl: string;
  modelEnv: Record<string, string>;
  path: string;
  /** Replaces the SDK's executable; must speak its protocol. */
  executable: string | undefined;
  startsAtOnce: number;
  logger: Logger;
  onProcess(process: SessionProcess): void;
}) {
  const gate = createGate(deps.startsAtOnce);
  const processes = new Set<SessionProcess>();
  const open: OpenSession = ({ name, profile, resume, token, store, onTranscript, workspace, skills }) =>
    gate(async () => {
      // A folder per process: removing that of a dead one never touches its successor's.
      const folder = `${name}.${randomUUID().slice(0, 8)}`;
      const home = deps.homes.open(folder);
      let enclosure: Enclosure | undefined;
      let isStarted = false;
      const clear = async () => {
        await workspace?.released();
        await Promise.all([enclosure?.close(), deps.homes.remove(folder)]);
      };
      const warn = (error: unknown) =>
        deps.logger.warn({ err: error, folder }, 'folder of a session not removed');
      const start = async () => {
        if (profile.builtInTools) enclosure = await deps.sandboxes?.open({ home, skills: skills?.folder });
        await workspace?.fill(home.cwd, enclosure?.owner);
        return startSession({
          profile,
          home,
          enclosure,
          workspace,
          commandsOf: skills?.commandsOf,
          conversation: resume ? { resume } : { sessionId: randomUUID() },
          mcp: token === undefined ? undefined : { url: deps.mcpUrl, token },
          modelEnv: deps.modelEnv,
          path: deps.path,
          executable: deps.executable,
          store,
          onTranscript: onTranscript ?? (() => undefined),
          onProcess(process) {
            isStarted = true;
            processes.add(process);
            deps.onProcess(process);
            void process.exited
              .then(() => {
                processes.delete(process);
                return clear();
              })
              .catch(warn);
          },
        });
      };
      const session = await start().catch(async (error) => {
        if (!isStarted) await clear().catch(warn); // otherwise at the end of its process
        throw error;
      });
      return { session, path: resume ? 'resume' : 'cold', searches: profile.searches };
    });
  return {
    open,
    living: () => processes.size,
    /** Kills all processes; resolves when they have ended. */
    async killAll() {
      const living = [...processes];
      for (const process of living) process.kill();
      await Promise.all(living.map((process) => process.exited));
    },
  };
}
