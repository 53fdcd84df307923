/**
 * A model of a worker's scripts, and commands that play them against it on real Redis: appends, claims, begins,
 * prompts, emits, commits, releases, hand-backs, deaths and sweeps.
 */
import { randomUUID } from 'node:crypto';
import { runUuidOf } from '@harness/contracts';
import fc from 'fast-check';
import { expect } from 'vitest';
import { type Begin, type Dispatch, type Hold, promptUuidOf, scriptAt, type Turn } from '../src/index.ts';
import type { Bench } from './fixture.ts';

const tenant = 'default';
const threadCount = 2;
/** The workers of a history. */
export const workerIds = ['wrk_a', 'wrk_b', 'wrk_c'];

interface ThreadModel {
  /** Accepted inputs, in order; a seq is an index + 1. */
  accepted: string[];
  done: number;
  attempt: number;
  epoch: number;
  owner: string | undefined;
  /**
   * The attempt that began last, by its nonce, and the nonces of attempts whose prompt is in the transcript.
   */
  nonce: string | undefined;
  sent: Set<number>;
}

/** What must hold after the commands so far. */
export interface Model {
  threads: ThreadModel[];
  /** The incarnation of each live worker. */
  living: Map<string, string>;
}

/** The real threads, and what incarnations believe. */
export interface Real {
  bench: Bench;
  dispatch: Dispatch;
  threadIds: string[];
  /** The holds that each incarnation believes it has, and the turn that it believes to be in, by thread. */
  holds: Map<string, Hold>;
  turns: Map<string, { turn: Turn; counter: number }>;
}

type Command = fc.AsyncCommand<Model, Real>;

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const slot = (thread: number, me: string) => `${thread} ${me}`;
const at = <T>(list: T[], index: number): T => list[index] as T;
const ownerLives = (model: Model, thread: ThreadModel) =>
  thread.owner !== undefined && [...model.living.values()].includes(thread.owner);

/** All incarnations so far, so that zombies act as well. */
const everLived: string[] = [];
/** Attempts whose prompt was sent. */
const asked = new Set<string>();
const session = randomUUID();

const append = (thread: number, word: number) =>
  command(`append ${thread}`, async (model, { dispatch, threadIds }) => {
    const input = `word ${word}`;
    await dispatch.runs.append({
      tenant,
      threadId: at(threadIds, thread),
      request: { input },
      idempotencyKey: randomUUID(),
    });
    at(model.threads, thread).accepted.push(input);
  });

const claim = (thread: number, zombie: number) =>
  command(`claim ${thread} by ${zombie}`, async (model, { dispatch, threadIds, holds }) => {
    const me = everLived[zombie % everLived.length];
    if (!me) return;
    const state = at(model.threads, thread);
    const answer = await dispatch.lease.claim(at(threadIds, thread), me);
    if (![...model.living.values()].includes(me)) {
      expect(answer.outcome).toBe('dead');
    } else if (ownerLives(model, state) && state.owner !== me) {
      expect(answer).toEqual({ outcome: 'owned', owner: state.owner?.split('#')[0] });
    } else {
      expect(answer).toMatchObject({ outcome: 'mine' });
      if (answer.outcome !== 'mine') return;
      const { hold } = answer;
      if (state.owner === me) expect(hold.epoch).toBe(state.epoch);
      else {
        expect(hold.epoch).toBeGreaterThan(state.epoch);
        state.nonce = undefined;
      }
      state.owner = me;
      state.epoch = hold.epoch;
      holds.set(slot(thread, me), hold);
    }
  });

const holdsIt = (state: ThreadModel, hold: Hold) => state.owner === hold.me && state.epoch === hold.epoch;

const begin = (thread: number, zombie: number) =>
  command(`begin ${thread} by ${zombie}`, async (model, { dispatch, holds, turns }) => {
    const me = everLived[zombie % everLived.length];
    const hold = me && holds.get(slot(thread, me));
    if (!me || !hold) return;
    const state = at(model.threads, thread);
    const answer: Begin = await dispatch.lease.begin(hold, randomUUID());
    if (!holdsIt(state, hold)) expect(answer.outcome).toBe('fenced');
    else if (state.accepted.length === state.done) expect(answer.outcome).toBe('empty');
    else {
      state.attempt++;
      state.nonce = 'turn' in answer ? answer.turn.nonce : undefined;
      const outcome = state.attempt > 3 ? 'park' : 'run';
      const input = state.accepted[state.done];
      expect(answer).toMatchObject({ outcome, turn: { seq: state.done + 1, attempt: state.attempt, input } });
      if ('turn' in answer) turns.set(slot(thread, me), { turn: answer.turn, counter: 0 });
    }
  });

/** Runs `act` with the turn that an incarnation believes to be in, if any. */
const inTurn = (
  name: string,
  { thread, zombie }: { thread: number; zombie: number },
  act: (state: ThreadModel, current: { turn: Turn; counter: number }, real: Real) => Promise<void>,
) =>
  command(`${name} ${thread} by ${zombie}`, async (model, real) => {
    const me = everLived[zombie % everLived.length];
    const current = me && real.turns.get(slot(thread, me));
    if (current) await act(at(model.threads, thread), current, real);
  });

const emit = (thread: number, zombie: number) =>
  inTurn('emit', { thread, zombie }, async (state, current, { dispatch }) => {
    const answer = await dispatch.lease.emit(current.turn, {
      counter: ++current.counter,
      events: [{ type: 'agent.message', text: 'x' }],
    });
    expect(answer.lost).toBe(!holdsIt(state, current.turn.hold));
  });

/**
 * Sends the attempt's prompt: the Agent SDK writes it into the transcript, and the model answers only if it
 * was not there.
 */
const ask = (thread: number, zombie: number) =>
  inTurn('ask', { thread, zombie }, async (state, { turn }, { dispatch }) => {
    const { transcripts } = dispatch;
    const { hold, runId, seq } = turn;
    const has = (uuid: string) => transcripts.hasMessage(hold.threadId, session, uuid);
    const isSent = await has(runUuidOf(runId));
    expect(isSent).toBe(state.sent.has(seq));
    const uuid = promptUuidOf(turn, isSent);
    // At most once per attempt: the same prompt may not be sent again.
    if (state.nonce === turn.nonce && !asked.has(turn.nonce)) expect(await has(uuid)).toBe(false);
    const append = transcripts
      .storeOf(hold.threadId, () => hold)
      .append({ sessionId: session }, [{ type: 'user', uuid }]);
    if (!holdsIt(state, hold)) return expect(append).rejects.toMatchObject({ code: 'stale_epoch' });
    await append;
    asked.add(turn.nonce);
    state.sent.add(seq);
  });

/** A drain or a self-fence: the attempt does not count. */
const handBack = (thread: number, zombie: number) =>
  inTurn('hand back', { thread, zombie }, async (state, { turn }, { dispatch }) => {
    await dispatch.lease.handBack(turn);
    if (!holdsIt(state, turn.hold) || state.nonce !== turn.nonce) return;
    state.attempt--;
    state.nonce = undefined;
  });

/** A turn that is cut off after its prompt was sent. */
const cut = (thread: number, zombie: number) =>
  command(`cut ${thread} of ${zombie}`, async (model, real) => {
    for (const step of [begin, ask, handBack]) await step(thread, zombie).run(model, real);
  });

const commit = (thread: number, zombie: number) =>
  inTurn('commit', { thread, zombie }, async (state, { turn }, { dispatch }) => {
    const answer = await dispatch.lease.commit(turn, { status: 'success', result: `done: ${turn.input}` });
    if (turn.seq <= state.done)
      expect(answer).toBeDefined(); // a repeat of what is committed
    else if (!holdsIt(state, turn.hold)) expect(answer).toBeUndefined();
    else {
      expect(answer).toEqual({ remaining: state.accepted.length - turn.seq });
      state.done = turn.seq;
      state.attempt = 0;
      state.nonce = undefined;
    }
  });

const release = (thread: number, zombie: number) =>
  command(`release ${thread} by ${zombie}`, async (model, { dispatch, holds }) => {
    const me = everLived[zombie % everLived.length];
    const hold = me && holds.get(slot(thread, me));
    if (!hold) return;
    const state = at(model.threads, thread);
    await dispatch.lease.release(hold);
    if (holdsIt(state, hold)) {
      state.owner = undefined;
      state.nonce = undefined;
    }
  });

const die = (worker: number) =>
  command(`die ${worker}`, async (model, { bench }) => {
    const workerId = at(workerIds, worker);
    model.living.delete(workerId);
    await bench.dies(workerId);
  });

const live = (worker: number) =>
  command(`live ${worker}`, async (model, { bench }) => {
    const workerId = at(workerIds, worker);
    const me = await bench.alive(workerId);
    model.living.set(workerId, me);
    everLived.push(me);
  });

const sweep = () =>
  command('sweep', async (model, { dispatch, threadIds }) => {
    const found = await dispatch.scripts.call<{ ring: { threadId: string }[] }>(scriptAt('worker/sweep'), {
      graceMs: 0,
      busyGraceMs: 0,
      taskGraceMs: 1000,
      count: 10,
    });
    const waiting = model.threads.flatMap((thread, n) =>
      thread.accepted.length > thread.done ? [at(threadIds, n)] : [],
    );
    const rung = Array.isArray(found.ring) ? found.ring.map(({ threadId }) => threadId) : [];
    expect(rung).toEqual(expect.arrayContaining(waiting)); // D5: every waiting thread is rung
  });

/** Histories of at most 60 commands. */
export function histories(): fc.Arbitrary<Iterable<Command>> {
  const thread = fc.nat(threadCount - 1);
  const zombie = fc.nat(5);
  const worker = fc.nat(workerIds.length - 1);
  return fc.commands(
    [
      fc.tuple(thread, fc.nat(9)).map((args) => append(...args)),
      fc.tuple(thread, zombie).map((args) => claim(...args)),
      fc.tuple(thread, zombie).map((args) => begin(...args)),
      fc.tuple(thread, zombie).map((args) => emit(...args)),
      fc.tuple(thread, zombie).map((args) => ask(...args)),
      fc.tuple(thread, zombie).map((args) => handBack(...args)),
      fc.tuple(thread, zombie).map((args) => cut(...args)),
      fc.tuple(thread, zombie).map((args) => commit(...args)),
      fc.tuple(thread, zombie).map((args) => release(...args)),
      worker.map(die),
      worker.map(live),
      fc.constant(sweep()),
    ],
    { maxCommands: 60, size: '+1' },
  );
}

/** Begins a history: new threads and workers, and their model. */
export async function beginHistory(bench: Bench): Promise<{ model: Model; real: Real }> {
  const { dispatch } = bench;
  everLived.length = 0;
  const threadIds: string[] = [];
  for (let n = 0; n < threadCount; n++)
    threadIds.push((await dispatch.threads.create(tenant, {})).thread.threadId);
  const real: Real = { bench, dispatch, threadIds, holds: new Map(), turns: new Map() };
  // A thread begins with an epoch higher than any of an earlier thread with its id.
  const firstEpochOf = async (id: string) =>
    Number(await bench.redis.hget(dispatch.keys.of('th', id), 'epoch'));
  const firstEpochs = await Promise.all(threadIds.map(firstEpochOf));
  const model: Model = {
    threads: firstEpochs.map((epoch) => ({
      accepted: [],
      done: 0,
      attempt: 0,
      epoch,
      owner: undefined,
      nonce: undefined,
      sent: new Set(),
    })),
    living: new Map(),
  };
  for (const workerId of workerIds) {
    const me = await bench.alive(workerId);
    model.living.set(workerId, me);
    everLived.push(me);
  }
  return { model, real };
}
