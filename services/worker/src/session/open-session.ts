import { randomUUID } from 'node:crypto';
import type { SessionPath } from '@harness/contracts';
import { createGate, type TranscriptStore } from '@harness/dispatch';
import type { Logger } from '@harness/runtime';
import { type OnTranscript, openSession, type Session } from './session.ts';
import type { SessionHomes } from './session-home.ts';
import type { SessionProcess, SessionProfile } from './session-options.ts';

export interface OpenRequest {
  /** Names its folder, for people who look. */
  name: string;
  profile: SessionProfile;
  /** A conversation that the store has. */
  resume?: string | undefined;
  /** Thread token for /mcp; undefined = no tool server. */
  token?: string | undefined;
  /** Where its transcript goes; undefined = nowhere, it ends with the process. */
  store?: TranscriptStore | 'later' | undefined;
  onTranscript?: OnTranscript | undefined;
}

export interface Opened {
  session: Session;
  path: SessionPath;
}

export type OpenSession = (request: OpenRequest) => Promise<Opened>;

/** Starts session processes, a few at a time, and knows all that live. */
export function createSessionOpener(deps: {
  homes: SessionHomes;
  mcpUrl: string;
  modelEnv: Record<string, string>;
  path: string;
  /** Another executable that speaks the SDK's protocol. */
  executable: string | undefined;
  startsAtOnce: number;
  logger: Logger;
  onProcess(process: SessionProcess): void;
}) {
  const gate = createGate(deps.startsAtOnce);
  const processes = new Set<SessionProcess>();
  const open: OpenSession = ({ name, profile, resume, token, store, onTranscript }) =>
    gate(async () => {
      // A folder per process: what a dead one left is removed without touching its successor's.
      const folder = `${name}.${randomUUID().slice(0, 8)}`;
      const session = await openSession({
        profile,
        home: deps.homes.open(folder),
        conversation: resume ? { resume } : { sessionId: randomUUID() },
        mcp: token === undefined ? undefined : { url: deps.mcpUrl, token },
        modelEnv: deps.modelEnv,
        path: deps.path,
        executable: deps.executable,
        store,
        onTranscript: onTranscript ?? (() => undefined),
        onProcess(process) {
          processes.add(process);
          deps.onProcess(process);
          void process.exited
            .then(() => {
              processes.delete(process);
              return deps.homes.remove(folder);
            })
            .catch((error) => deps.logger.warn({ err: error, folder }, 'folder of a session not removed'));
        },
      });
      return { session, path: resume ? 'resume' : 'cold' };
    });
  return {
    open,
    living: () => processes.size,
    /** Ends every process that lives, at once, and resolves when they are gone. */
    async killAll() {
      const living = [...processes];
      for (const process of living) process.kill();
      await Promise.all(living.map((process) => process.exited));
    },
  };
}
