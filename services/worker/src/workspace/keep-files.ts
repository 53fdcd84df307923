import type { FileChanges } from '@harness/contracts';
import type { Session } from '../session/session.ts';

/** The state of a session and its files after a turn. */
export interface Kept {
  /** Whether the session can be used again. */
  lives: boolean;
  /** The new version of the thread's files; undefined = as before. */
  files: FileChanges | undefined;
  /** Whether what the turn has changed could not be stored; undefined = the session has no files. */
  filesLost: boolean | undefined;
}

/**
 * Ends what runs in the session's sandbox, and stores its files. With `kill` the session itself, which is in the middle of a
 * turn, ends, too. Throws `limit_reached`, `storage_full`: then the session must end, since its folder holds what no version has.
 */
export async function keepFiles(
  session: Pick<Session, 'settle' | 'kill' | 'exited' | 'workspace' | 'ended'>,
  { kill = false } = {},
): Promise<Kept> {
  const { workspace } = session;
  const release = workspace?.hold();
  try {
    const lives = !kill && !session.ended && (await session.settle());
    if (!lives) {
      session.kill();
      await session.exited;
    }
    return { lives, files: await workspace?.keep(), filesLost: workspace && false };
  } finally {
    release?.();
  }
}
