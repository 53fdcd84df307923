import { finalRunEvents } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['read-order'] });

/** What was read back, and what was wrong with it. */
export interface OrderCheck {
  threads: number;
  runs: number;
  /** Positions between two runs without a run. */
  gaps: number;
  /** Results beyond the first one of a run. */
  doubles: number;
  /** Results that stand before the result of an earlier message. */
  reorderings: number;
}

/** Bounds of a check: a thread keeps Redis busy for a few milliseconds at most, and threads are read one by one. */
const maxThreads = 100;
const maxRuns = 100;
const maxEvents = 1_000;

/**
 * Reads the latest threads of a tenant back, and compares the order of their messages with the order of the results in
 * their event logs. Throws `unavailable`.
 */
export async function checkOrder(
  { redis, keys, scripts }: { redis: Redis; keys: Keys; scripts: Scripts },
  tenant: string,
): Promise<OrderCheck> {
  const threads = await reached(redis.zrevrange(keys.of('ths', tenant), 0, maxThreads - 1));
  const check: OrderCheck = { threads: threads.length, runs: 0, gaps: 0, doubles: 0, reorderings: 0 };
  for (const threadId of threads) {
    const read = await scripts.call<{ runs?: string[]; ends?: string[] }>(lua['read-order'], {
      threadId,
      maxRuns,
      maxEvents,
      final: finalRunEvents,
    });
    const found = orderOf(seqsOf(listOf(read.runs)), listOf(read.ends).toReversed());
    check.runs += found.runs;
    check.gaps += found.gaps;
    check.doubles += found.doubles;
    check.reorderings += found.reorderings;
  }
  return check;
}

/** Positions by run id, from ZRANGE … WITHSCORES. */
function seqsOf(flat: readonly string[]): Map<string, number> {
  const seqs = new Map<string, number>();
  for (let i = 0; i < flat.length; i += 2) seqs.set(flat[i] ?? '', Number(flat[i + 1]));
  return seqs;
}

/** Checks one thread: positions of its runs, and the runs whose results were stored, in that order. */
export function orderOf(
  seqs: ReadonlyMap<string, number>,
  ends: readonly string[],
): Omit<OrderCheck, 'threads'> {
  const positions = [...seqs.values()].sort((one, other) => one - other);
  const [first = 1] = positions;
  const last = positions.at(-1) ?? 0;
  const ended = new Set<string>();
  let [doubles, reorderings, latest] = [0, 0, 0];
  for (const runId of ends) {
    const seq = seqs.get(runId);
    if (seq === undefined) continue; // older than the runs that were read
    if (ended.has(runId)) doubles++;
    else if (seq < latest) reorderings++;
    ended.add(runId);
    latest = Math.max(latest, seq);
  }
  return { runs: seqs.size, gaps: Math.max(0, last - first + 1 - positions.length), doubles, reorderings };
}
