import { setTimeout as after } from 'node:timers/promises';
import type { Client } from './client.ts';
import type { Random } from './random.ts';
import { type Reader, startReader } from './reader.ts';

export interface LoadOptions {
  threads: number;
  messages: number;
  /** Approximate time of the n-th message's turn, ms. */
  turnMs?: number;
  /** Longest pause of a thread between two messages, ms. */
  gapMs?: number;
  /** Replaces the usual script; its result must be `n`. */
  scriptOf?(n: number): string;
  /** Messages that are made to fail. */
  mayFail?(n: number): boolean;
}

export interface Sent {
  threadId: string;
  runId: string;
  n: number;
  /** Number of effects in its script. */
  effects: number;
  mayFail: boolean;
}

/** Accepted messages and subscribers: the input of the checker. */
export interface Load {
  readonly sent: readonly Sent[];
  readonly readers: readonly Reader[];
  readonly threadIds: readonly string[];
  /** Resolves when every message is accepted. */
  accepted: Promise<void>;
}

/** A line of a script with one effect. */
export const effectOf = (n: number) => `call: effects__record {"n":${n},"agent":"$agent","epoch":"$epoch"}`;

/** One effect, a pause, another effect: shows a turn that was interrupted between them. */
const usualScript = (n: number, turnMs: number) =>
  [effectOf(n), `sleep: ${turnMs}`, effectOf(n), `say: ${n}`].join('\n');

/** Effects one after another for about `turnMs`: an agent that was not killed continues with them. */
export const busyScript = (n: number, turnMs: number) => {
  const rounds = Math.max(1, Math.round(turnMs / 100));
  return [...Array.from({ length: rounds }, () => `${effectOf(n)}\nsleep: 100`), `say: ${n}`].join('\n');
};

/** Threads that each send their messages in order, with one subscriber each. */
export async function startLoad(
  { threads, messages, turnMs = 20, gapMs = 20, scriptOf, mayFail }: LoadOptions,
  { client, gateways, random }: { client: Client; gateways: () => readonly string[]; random: Random },
): Promise<Load> {
  const sent: Sent[] = [];
  const threadIds = await Promise.all(Array.from({ length: threads }, client.thread));
  const readers = threadIds.map((threadId) => startReader(threadId, { gateways, random }));
  const sendAll = async (threadId: string) => {
    for (let n = 1; n <= messages; n++) {
      const input = scriptOf?.(n) ?? usualScript(n, turnMs);
      const { runId } = await client.send(threadId, input, `${threadId}-${n}`);
      const effects = input.split(effectOf(n)).length - 1;
      sent.push({ threadId, runId, n, effects, mayFail: mayFail?.(n) ?? false });
      await after(random.upTo(gapMs + 1));
    }
  };
  const accepted = Promise.all(threadIds.map(sendAll)).then(() => undefined);
  accepted.catch(() => undefined); // reported to the caller that awaits it
  return { sent, readers, threadIds, accepted };
}
