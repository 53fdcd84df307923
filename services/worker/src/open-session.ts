import { randomUUID } from 'node:crypto';
import type { SessionPath } from '@harness/contracts';
import { openSession, type Session } from './session.ts';
import type { SessionHomes } from './session-home.ts';
import type { SessionProcess, SessionProfile } from './session-options.ts';
import { createStartGate } from './start-gate.ts';

export interface OpenRequest {
  /** Folder of the session. */
  name: string;
  profile: SessionProfile;
  /** A conversation that this folder holds. */
  resume: string | undefined;
  /** Thread token for /mcp; undefined = no tool server. */
  token: string | undefined;
}

export type OpenSession = (request: OpenRequest) => Promise<{ session: Session; path: SessionPath }>;

/** Starts session processes, a few at a time, and knows all that live. */
export function createSessionOpener(deps: {
  homes: SessionHomes;
  mcpUrl: string;
  modelEnv: Record<string, string>;
  path: string;
  startsAtOnce: number;
}) {
  const gate = createStartGate(deps.startsAtOnce);
  const processes = new Set<SessionProcess>();
  const open: OpenSession = ({ name, profile, resume, token }) =>
    gate(async () => {
      const session = await openSession({
        profile,
        home: deps.homes.open(name),
        conversation: resume ? { resume } : { sessionId: randomUUID() },
        mcp: token === undefined ? undefined : { url: deps.mcpUrl, token },
        modelEnv: deps.modelEnv,
        path: deps.path,
        onProcess(process) {
          processes.add(process);
          void process.exited.then(() => processes.delete(process));
        },
      });
      return { session, path: resume ? 'resume' : 'cold' };
    });
  return {
    open,
    /** Ends every process that lives, at once, and resolves when they are gone. */
    async killAll() {
      const living = [...processes];
      for (const process of living) process.kill();
      await Promise.all(living.map((process) => process.exited));
    },
  };
}
