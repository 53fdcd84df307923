import type { ModelResponse, Prompt, Session } from '../src/session/session.ts';

/** A fake Agent SDK session for unit tests: it responds when the test calls `answer`. */
export interface FakeSession extends Session {
  /** Prompts without a response. */
  readonly asked: Prompt[];
  answer(text: string): void;
  die(): void;
}

const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };

/** Creates a fake session. */
export function createFakeSession(sessionId = 'session'): FakeSession {
  const open: { prompt: Prompt; resolve(response: ModelResponse): void; reject(error: Error): void }[] = [];
  let ended = false;
  return {
    sessionId,
    get ended() {
      return ended;
    },
    get asked() {
      return open.map(({ prompt }) => prompt);
    },
    ask: (prompt) =>
      new Promise((resolve, reject) => {
        if (ended) reject(new Error('ended'));
        else open.push({ prompt, resolve, reject });
      }),
    answer(text) {
      open.shift()?.resolve({ outcome: 'success', text, usage, models: [], requests: [] });
    },
    die() {
      ended = true;
      for (const { reject } of open.splice(0)) reject(new Error('the process died'));
    },
    interrupt: async () => undefined,
    runEmbedded: async () => new Map(),
    settle: async () => true,
    renewMcp: async () => undefined,
    adopt: () => undefined,
    movable: true,
    storeRest: async () => 'whole',
    exited: Promise.resolve(),
    kill() {
      this.die();
    },
  };
}
