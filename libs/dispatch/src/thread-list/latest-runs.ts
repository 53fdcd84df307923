import { cutText, type LatestRun } from '@harness/contracts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['latest-runs'] });

/** Longest text of a run in a list, characters. */
const maxChars = 200;
/** Threads that one script reads. */
const atOnce = 100;

/** Reads the latest run of each thread, by the threads' own ids; threads without one are left out. Throws `unavailable`. */
export type LatestRuns = (ownIds: readonly string[]) => Promise<Map<string, LatestRun>>;

type Found = Pick<LatestRun, 'runId' | 'kind' | 'status'> & {
  threadId: string;
  /** ms since 1970. */
  createdAt: string;
  input?: string;
  result?: string;
  error?: string;
};

/** Creates the reader. */
export const createLatestRuns =
  ({ scripts }: { scripts: Scripts }): LatestRuns =>
  async (ownIds) => {
    const parts = Array.from({ length: Math.ceil(ownIds.length / atOnce) }, (_, i) =>
      ownIds.slice(i * atOnce, (i + 1) * atOnce),
    );
    const answers = await Promise.all(
      parts.map((threadIds) => scripts.call<{ runs?: Found[] }>(lua['latest-runs'], { threadIds })),
    );
    const found = answers.flatMap(({ runs }) => listOf(runs));
    return new Map(found.map((run) => [run.threadId, latestOf(run)]));
  };

const latestOf = ({ runId, kind, status, createdAt, input = '', result, error }: Found): LatestRun => ({
  runId,
  kind,
  status,
  createdAt: new Date(Number(createdAt)).toISOString(),
  input: cutText(input, maxChars),
  result: result === undefined ? null : cutText(result, maxChars),
  error: error === undefined ? null : cutText(error, maxChars),
});
