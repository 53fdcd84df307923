import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What conversations this worker's disk can continue, by thread: the SDK session and the last run committed with it.
 * A thread that ran elsewhere since has a higher `done`, and its old transcript here must not be resumed.
 */
export interface Transcript {
  sessionId: string;
  /** `done` of the thread after the last commit that this worker made. */
  seq: number;
}

/** Conversations kept on disk at once; the least recently used go first. */
const maxKept = 200;

export function createTranscripts(remove: (threadId: string) => void) {
  const kept = new Map<string, Transcript>();
  return {
    note(threadId: string, transcript: Transcript) {
      kept.delete(threadId);
      kept.set(threadId, transcript);
      const oldest = kept.size > maxKept ? kept.keys().next().value : undefined;
      if (oldest !== undefined) {
        kept.delete(oldest);
        remove(oldest);
      }
    },
    /** The session to resume for a thread with this many finished runs, or undefined. */
    resumable(threadId: string, finishedRuns: number): string | undefined {
      const transcript = kept.get(threadId);
      return transcript?.seq === finishedRuns ? transcript.sessionId : undefined;
    },
    drop(threadId: string) {
      if (kept.delete(threadId)) remove(threadId);
    },
  };
}
export type Transcripts = ReturnType<typeof createTranscripts>;

/** Whether the SDK's transcript in this configuration folder has the message: then it was sent, and is not sent again. */
export function transcriptHas(configDir: string, sessionId: string, messageUuid: string): boolean {
  try {
    const projects = join(configDir, 'projects');
    return readdirSync(projects).some((project) => {
      const text = readFileSync(join(projects, project, `${sessionId}.jsonl`), 'utf8');
      return text.includes(`"uuid":"${messageUuid}"`);
    });
  } catch {
    return false; // no transcript yet
  }
}
