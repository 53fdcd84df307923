import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';

/**
 * One change of the shape of the data in Redis. A release lists every change up to its own; what an earlier release wrote
 * is read with all changes after it applied.
 *
 * | kind | what the earlier release can do | what happens at the first start of this release |
 * |---|---|---|
 * | beside | run beside this one: it reads what this one writes | the version is recorded |
 * | alone | not run beside this one; what it wrote is read as it is | the version is recorded, once the earlier release is stopped |
 * | one-way | never read the data again | it refuses; `npm run migrate` converts the data |
 */
export type DataChange = {
  /** The version that the data has after this change; each is one more than the last. */
  to: number;
  /** What changes, for the operator: continues "…: ", without a full stop. */
  says: string;
} & (
  | { kind: 'beside' | 'alone' }
  | {
      kind: 'one-way';
      /** Converts what is there, in bounded batches. May be interrupted at any point and run again. */
      run(deps: MigrationDeps): Promise<void>;
    }
);

/** What a migration works with. */
export interface MigrationDeps {
  redis: Redis;
  keys: Keys;
  /**
   * Hands over the keys of one kind (`th`, `task`, … of `keys.ts`), at most some hundreds at a time and each at least
   * once. A failing batch ends the migration.
   */
  eachBatch(kind: string, handle: (keys: readonly string[]) => Promise<void>): Promise<void>;
}

/**
 * Every change since version 1, the data of releases that did not record a version.
 *
 * Why 2 is `alone`. Its readers take all of version 1 as it is: every new field is optional (`alias`, `parentAlias` of
 * threads and tasks, `narrowed` of runs, `digest` of bus tasks), and the new keys (`signals`, `drain`) may be missing.
 * In the other direction two things are misread. A thread that a caller names has an id made from tenant and name: a
 * gateway of version 1 does not find it, and where the name has the form `thr_` and 32 hex digits, the only one that it
 * takes, it makes a second thread under the name, which from then on hides the first. A task in phase `children` waits for the tasks below it: a worker of version 1 sends it its work again, and reviews a
 * result that is not complete. Plugins' broadcasts moved from a channel of their own to the signals, so the two releases
 * do not hear each other's. Events of a tree are read from its threads' logs and no longer copied: a gateway of version 1
 * shows none of those below a thread.
 */
export const dataChanges: readonly DataChange[] = [
  {
    to: 2,
    kind: 'alone',
    says: 'threads that callers name are found by tenant and name, and a task waits for the tasks below it',
  },
];
