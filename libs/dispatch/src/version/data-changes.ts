import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';

/**
 * One change of the data's shape in Redis. A release lists every change up to its own; data of an earlier
 * release is read as if all later changes were applied.
 *
 * | kind | what the earlier release can do | what happens at the first start of this release |
 * |---|---|---|
 * | beside | run beside this one: it reads what this one writes | the version is recorded |
 * | alone | not run beside this one; what it wrote is read as it is | the version is recorded, once the earlier release has stopped |
 * | one-way | never read the data again | it refuses to start; `npm run migrate` converts the data |
 */
export type DataChange = {
  /** The version of the data after this change; each is one more than the last. */
  to: number;
  /** What changes, for the operator; follows a colon, without a full stop. */
  description: string;
} & (
  | { kind: 'beside' | 'alone' }
  | {
      kind: 'one-way';
      /** Converts existing data, in bounded batches. May be interrupted at any point and run again. */
      run(deps: MigrationDeps): Promise<void>;
    }
);

/** What a migration may use. */
export interface MigrationDeps {
  redis: Redis;
  keys: Keys;
  /**
   * Calls `handle` with the keys of one kind (`th`, `task`, … of redis/keys.ts), about 500 at a time and each
   * at least once. A failing batch ends the migration.
   */
  eachBatch(kind: string, handle: (keys: readonly string[]) => Promise<void>): Promise<void>;
}

/**
 * Every change since version 1, which is the data of releases that did not record a version.
 *
 * Why 2 is `alone`. Releases of version 2 read all data of version 1 as it is: every new field is optional
 * (`alias`, `parentAlias` of threads and tasks, `narrowed` of runs, `digest` of bus tasks), and the new keys
 * (`signals`, `drain`) may be missing. In the other direction a release of version 1 misreads or misses:
 * - Named threads. The own id of a thread that a caller names is made from tenant and name, so a gateway of
 * version 1 does not find it. Where the name has the form `thr_` and 32 hex digits, the only one that it
 * accepts, it creates a second thread under the name, which from then on hides the first.
 * - Tasks in phase `children`, which wait for the tasks below them: a worker of version 1 sends such a task
 * its work again, and reviews an incomplete result.
 * - Broadcasts of plugins, which moved from their own channel to the signals: neither release receives those
 * of the other.
 * - Events of a tree, which are read from the logs of its threads and no longer copied: a gateway of version
 * 1 shows none of those below a thread.
 *
 * Why 3 is `alone`. A release of version 2 does not keep the indexes `thx`, so lists would lack what it changes. Threads that
 * it left are put into the indexes before the first list that needs them (thread-list/).
 */
export const dataChanges: readonly DataChange[] = [
  {
    to: 2,
    kind: 'alone',
    description:
      'threads that callers name are found by tenant and name, and a task waits for the tasks below it',
  },
  {
    to: 3,
    kind: 'alone',
    description:
      'threads are listed by state, agent and skill from indexes, which each change of a thread keeps',
  },
];
