/**
 * Applies one-way changes of the data, for `npm run migrate`. From its first write on, the record states that a
 * migration is unfinished, so no process starts on half-converted data; a migration that failed continues
 * with the change that it was in.
 */
import type { Redis } from 'ioredis';
import { noAcks } from '../fail-over/acks.ts';
import { defaultLimits } from '../limits.ts';
import { createKeys, type Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { createScripts } from '../redis/scripts.ts';
import { type DataChange, dataChanges, type MigrationDeps } from './data-changes.ts';
import { partsOf, refusalOf, type VersionAnswer, versionScripts, versionsOf } from './data-version.ts';

/** The result of a migration. `from`: the version found. `message`: one line for the operator. */
export type Migration =
  | { outcome: 'migrated' | 'current'; from: number; to: number }
  | { outcome: 'empty'; to: number }
  | { outcome: 'refused'; message: string };

/** Approximate number of keys that one SCAN examines. */
const batch = 500;

/**
 * Brings the data to the version of this release. Refuses while a gateway or worker runs, unless `force` is
 * set. Throws the error of a change; after that, or if the process ends early, run it again. `tag` and
 * `changes`: for tests only.
 */
export async function migrateData(
  redis: Redis,
  options: {
    force: boolean;
    /** Called before each change. */
    onChange: (change: DataChange) => void;
    tag?: string;
    changes?: readonly DataChange[];
  },
): Promise<Migration> {
  const { force, onChange, tag, changes = dataChanges } = options;
  const keys = createKeys(tag);
  const scripts = createScripts({ redis, keys, limits: defaultLimits, acks: noAcks });
  const { data, least } = versionsOf(changes);
  const move = (args: object) =>
    scripts.call<VersionAnswer>(versionScripts['data-version'], { data, least, force, ...args });

  const begun = await move({ move: 'begin' });
  if (begun.outcome === 'running') return { outcome: 'refused', message: stillRunning(begun) };
  if (begun.outcome !== 'ok')
    return { outcome: 'refused', message: refusalOf(begun, { mine: data, changes }) };
  const { from } = begun;
  if (from === undefined) return { outcome: 'empty', to: data };
  const deps: MigrationDeps = { redis, keys, eachBatch: batchesOf(redis, keys) };
  for (const change of changes.filter(({ to }) => to > from)) {
    onChange(change);
    if (change.kind === 'one-way') await change.run(deps);
    await move({ move: 'step', done: change.to });
  }
  await move({ move: 'finish' });
  return { outcome: from === data ? 'current' : 'migrated', from, to: data };
}

const stillRunning = (answer: { gateways: number; workers: number }) =>
  `The data cannot be migrated while the fleet works on it: ${partsOf(answer)}. Stop every gateway and worker first.`;

const batchesOf =
  (redis: Redis, keys: Keys): MigrationDeps['eachBatch'] =>
  async (kind, handle) => {
    let cursor = '0';
    do {
      const [next, found] = await reached(redis.scan(cursor, 'MATCH', keys.of(kind, '*'), 'COUNT', batch));
      if (found.length > 0) await handle(found);
      cursor = next;
    } while (cursor !== '0');
  };
