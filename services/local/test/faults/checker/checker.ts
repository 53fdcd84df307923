/**
 * Checks the state after a workload, by the public API, the ledger of effects, Redis and /proc; see the promises D1-D8
 * in libs/dispatch/README.md. Each function returns a description of each problem.
 */
import { errorCodes, isFinalRunEvent, type Run, type ThreadEvent } from '@harness/contracts';
import type { Client } from '../client.ts';
import type { Effect } from '../effects.ts';
import type { Load, Sent } from '../load.ts';

export interface ThreadFacts {
  threadId: string;
  runs: Run[];
  events: ThreadEvent[];
  sent: Sent[];
  effects: Effect[];
}

export interface Tolerance {
  /** An effect may be this late after the check that allowed it, ms: the check and the effect are two steps. */
  slackMs: number;
}

const isEnded = ({ status }: Run) => status !== 'pending' && status !== 'running';
const timeOf = (event: ThreadEvent) => Date.parse(event.data.at);

/** Whether no message of the load is unfinished. */
export async function isSettled(client: Client, load: Load): Promise<boolean> {
  for (const threadId of load.threadIds) {
    const { runs } = await client.call<{ runs: Run[] }>('GET', `/v1/threads/${threadId}/runs?limit=100`);
    if (!runs.every(isEnded)) return false;
  }
  return true;
}

export async function gatherFacts(client: Client, load: Load, effects: Effect[]): Promise<ThreadFacts[]> {
  return Promise.all(
    load.threadIds.map(async (threadId) => ({
      threadId,
      runs: await client.runs(threadId),
      events: await client.events(threadId),
      sent: load.sent.filter((one) => one.threadId === threadId),
      effects: effects.filter((one) => one.kind === 'effect' && one.threadId === threadId),
    })),
  );
}

/** D1, D2: one result for each message, in the order of sending. */
export function checkResults({ threadId, runs, events, sent }: ThreadFacts): string[] {
  const wrong: string[] = [];
  const finals = events.filter(({ type }) => isFinalRunEvent(type));
  if (runs.length !== sent.length)
    wrong.push(`D1 ${threadId}: ${sent.length} messages accepted, ${runs.length} runs`);
  for (const one of sent) {
    const run = runs.find(({ runId }) => runId === one.runId);
    const ends = finals.filter(({ data }) => data.runId === one.runId);
    if (!run) {
      wrong.push(`D1 ${threadId}: message ${one.n} was accepted as ${one.runId} and is gone`);
      continue;
    }
    if (run.seq !== one.n) wrong.push(`D2 ${threadId}: message ${one.n} has place ${run.seq}`);
    if (!isEnded(run))
      wrong.push(`D5 ${threadId}: message ${one.n} is ${run.status} (attempt ${run.attempt})`);
    else if (ends.length !== 1)
      wrong.push(`D1 ${threadId}: message ${one.n} has ${ends.length} final events`);
    else if (ends[0]?.data.status !== run.status || ends[0]?.data.result !== (run.result ?? undefined))
      wrong.push(`D1 ${threadId}: message ${one.n}: its record and its final event differ`);
    if (!one.mayFail) wrong.push(...checkAnswer(threadId, one, run));
  }
  const places = finals.map(({ data }) => runs.find(({ runId }) => runId === data.runId)?.seq ?? 0);
  if (places.some((place, i) => place !== i + 1))
    wrong.push(`D2 ${threadId}: results came in the order ${places.join(' ')}`);
  return wrong;
}

/**
 * Other results that a turn may have: that tools could not be reached during an outage, and the response of
 * scripted-model to the prompt that continues a turn whose worker died.
 */
const honest = /^(\d+ calls failed|You said: The agent process ended)/;

function checkAnswer(threadId: string, { n }: Sent, run: Run): string[] {
  if (!isEnded(run)) return [];
  if (run.status !== 'success')
    return [`D1 ${threadId}: message ${n} ended as ${run.status} ${JSON.stringify(run.error)}`];
  if (run.result === String(n) || honest.test(run.result ?? '')) return [];
  return [`D2 ${threadId}: message ${n} has the answer "${run.result}"`];
}

/** D3, D4: two processes never act for a thread alternately, and none acts after its successor. */
export function checkOverlap({ threadId, events, effects }: ThreadFacts, { slackMs }: Tolerance): string[] {
  const wrong: string[] = [];
  const agents = effects.map(({ agent }) => agent ?? '');
  for (const agent of returning(agents))
    wrong.push(`D4 ${threadId}: agent ${agent} had effects after another had`);
  const speakers = events
    .filter(({ type }) => type === 'agent.tool_use')
    .map(({ data }) => String(data.toolUseId).split('_')[1] ?? '');
  for (const agent of returning(speakers))
    wrong.push(`D3 ${threadId}: agent ${agent} spoke after another had`);

  let highest = 0;
  for (const { epoch, at, n } of effects) {
    if (typeof epoch !== 'number') continue;
    if (epoch < highest)
      wrong.push(`D4 ${threadId}: an effect of ${n} at epoch ${epoch} after one at ${highest}`);
    highest = Math.max(highest, epoch);
    const successor = events.find(
      ({ type, data }) =>
        type === 'session.moved' && Number(data.epoch) > epoch && Date.parse(data.at) + slackMs < at,
    );
    if (successor)
      wrong.push(
        `D4 ${threadId}: an effect of ${n} at epoch ${epoch}, ${at - timeOf(successor)} ms after epoch ${successor.data.epoch} began`,
      );
  }
  for (const effect of effects) {
    const final = events.find(({ type, data }) => isFinalRunEvent(type) && data.runId === effect.runId);
    if (final && timeOf(final) + slackMs < effect.at)
      wrong.push(`D4 ${threadId}: an effect of ${effect.n} ${effect.at - timeOf(final)} ms after its result`);
  }
  return wrong;
}

/** Those that occur again after another in between. */
function returning(names: string[]): string[] {
  const left = new Set<string>();
  const found = new Set<string>();
  names.forEach((name, i) => {
    const before = names[i - 1];
    if (before === name) return;
    if (before !== undefined) left.add(before);
    if (left.has(name)) found.add(name);
  });
  return [...found];
}

/** A turn that reported success has had its effects. */
export function checkEffects({ threadId, runs, sent, effects }: ThreadFacts): string[] {
  return sent.flatMap(({ runId, n, effects: wanted }) => {
    const run = runs.find((one) => one.runId === runId);
    if (run?.status !== 'success' || run.result !== String(n)) return [];
    const had = effects.filter((effect) => effect.runId === runId && effect.n === n).length;
    if (had >= wanted) return [];
    return [`D4 ${threadId}: message ${n} says that all its effects happened; ${had} of ${wanted} did`];
  });
}

/** D7: every stored event, once, in order, whatever connections broke. */
export function checkReader(events: ThreadEvent[], seen: readonly string[], threadId: string): string[] {
  const stored = events.flatMap(({ id }) => id ?? []);
  const gaps = stored.filter((id) => !seen.includes(id)).length;
  const repeats = seen.length - new Set(seen).size;
  if (gaps === 0 && repeats === 0 && stored.every((id, i) => seen[i] === id)) return [];
  return [`D7 ${threadId}: of ${stored.length} events a reader missed ${gaps} and saw ${repeats} again`];
}

/** A 503 is sent within a second; on busy cores, within this, ms. */
const refusalLimitMs = 3_000;

/** D8: failures are documented, and returned quickly. */
export function checkRefusals({ refusals }: Client): string[] {
  const documented = new Set<string>(errorCodes);
  return refusals.flatMap(({ request, status, code, ms }) => {
    if (status === 0) return [`D8 ${request}: no answer in ${ms} ms`];
    if (code === undefined || !documented.has(code))
      return [`D8 ${request}: ${status} with the code ${code}`];
    if (status === 500) return [`D8 ${request}: 500 ${code}`];
    return ms > refusalLimitMs ? [`D8 ${request}: ${status} after ${Math.round(ms)} ms`] : [];
  });
}

/** Keys that a thread, and that a run, may leave until they expire; and those of the installation. */
const keysPerThread = 8;
const keysPerRun = 4;
const keysAtAll = 75;

/** D6: no keys of dead workers, no mail, and no keys beside those that the work explains. */
export function checkKeys(
  keys: string[],
  living: string[],
  load: Pick<Load, 'threadIds' | 'sent'>,
): string[] {
  const wrong = keys
    .filter((key) => {
      const [worker] = /wrk_[0-9a-f]{32}/.exec(key) ?? [];
      return worker !== undefined && !living.includes(worker);
    })
    .map((key) => `D6 the key ${key} is of a worker that is gone`);
  const pending = keys.filter((key) => /^\{h\}:pend$/.test(key));
  if (pending.length > 0) wrong.push('D5 threads are still listed as having mail');
  const most = keysAtAll + load.threadIds.length * keysPerThread + load.sent.length * keysPerRun;
  if (keys.length > most) wrong.push(`D6 ${keys.length} keys, expected at most ${most}`);
  return wrong;
}
