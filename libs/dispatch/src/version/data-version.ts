/**
 * Which releases may work on the data: each process checks once, at its start.
 *
 * This folder:
 *   data-changes.ts   every change of the data's shape, and its kind
 *   data-version.lua  script: reads, compares and records the version
 *   migrate-data.ts   applies one-way changes, for `npm run migrate`
 */
import type { Log } from '../redis/log.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { type DataChange, dataChanges } from './data-changes.ts';

/** The script of this room. */
export const versionScripts = scriptsBeside(import.meta.url, { unconfirmed: ['data-version'] });

/** Whether this process may work on the data. `message` is one line for the operator. */
export type Admission = { outcome: 'admitted' } | { outcome: 'refused'; message: string };

/** The version of the data, as one process sees it. */
export interface DataVersion {
  /**
   * Checks the version; await it before reading or writing anything else. Records the version on an empty
   * database and after a change that needs no migration. Throws `unavailable` when Redis does not answer.
   */
  enter(): Promise<Admission>;
  close(): void;
}

/** The result of data-version.lua. */
export type VersionAnswer =
  | { outcome: 'ok'; from?: number }
  | { outcome: 'newer'; found: number; least: number }
  | { outcome: 'migrate' | 'unfinished'; found: number }
  | { outcome: 'running'; found: number; gateways: number; workers: number }
  | { outcome: 'unreadable' };

/** The versions of a release, derived from its changes. */
export interface ReleaseVersions {
  data: number;
  /** Releases of this data version and later can run beside this one, and on what it writes. */
  least: number;
  /** The oldest data version that this release reads without a migration. */
  readFrom: number;
}

/** The version of data without a recorded version. */
const firstVersion = 1;

/**
 * How often the record is restored if missing, ms: it is lost when the database is emptied under a running
 * fleet.
 */
const keepMs = 2_000;

/** Derives the versions of a release from its changes. */
export function versionsOf(changes: readonly DataChange[]): ReleaseVersions {
  const last = (kinds: readonly DataChange['kind'][]) =>
    Math.max(firstVersion, ...changes.filter(({ kind }) => kinds.includes(kind)).map(({ to }) => to));
  return {
    data: last(['beside', 'alone', 'one-way']),
    least: last(['alone', 'one-way']),
    readFrom: last(['one-way']),
  };
}

/** The changes between two data versions, as one text. */
export const saysOf = (changes: readonly DataChange[], from: number): string =>
  changes
    .filter(({ to }) => to > from)
    .map(({ description }) => description)
    .join('; ');

/** Creates the check. `changes`: for tests only. */
export function createDataVersion(deps: {
  scripts: Scripts;
  logger: Log;
  changes?: readonly DataChange[];
}): DataVersion {
  const { scripts, logger, changes = dataChanges } = deps;
  const { data, least, readFrom } = versionsOf(changes);
  let keeping: NodeJS.Timeout | undefined;
  return {
    async enter() {
      const args = { move: 'enter', data, least, readFrom };
      const answer = await scripts.call<VersionAnswer>(versionScripts['data-version'], args);
      if (answer.outcome !== 'ok')
        return { outcome: 'refused', message: refusalOf(answer, { mine: data, changes }) };
      const { from } = answer;
      if (from !== undefined && from < data)
        logger.info({ from, to: data }, `data version raised: ${saysOf(changes, from)}`);
      // Without a record, the data would count as version 1.
      keeping ??= setInterval(() => {
        scripts
          .call(versionScripts['data-version'], { move: 'keep', data, least })
          .catch((error) => logger.debug({ err: error }, 'data version: check of the record failed'));
      }, keepMs).unref();
      return { outcome: 'admitted' };
    },
    close: () => clearInterval(keeping),
  };
}

/** Why this release does not start, or does not migrate, as one line for the operator. */
export function refusalOf(
  answer: Exclude<VersionAnswer, { outcome: 'ok' }>,
  { mine, changes }: { mine: number; changes: readonly DataChange[] },
): string {
  if (answer.outcome === 'unreadable')
    return 'The record of the data’s version in Redis, {h}:version, is damaged. Restore a backup, or write the version that the data has into its fields `data` and `least`.';
  const { found } = answer;
  const versions = `The data in Redis has version ${found}, this release has ${mine}`;
  switch (answer.outcome) {
    case 'newer':
      return `${versions}, and it takes a release of version ${answer.least} or later. Start such a release, or restore a backup from before the upgrade.`;
    case 'unfinished':
      return `A migration of the data in Redis to version ${found} has not finished. Let it finish, or run \`npm run migrate\` again.`;
    case 'migrate':
      return `${versions}, and this change cannot be undone: ${saysOf(changes, found)}. Stop every gateway and worker, make a backup, then run \`npm run migrate\`.`;
    case 'running':
      return `${versions}, and the two releases cannot run side by side: ${saysOf(changes, found)}. Of the other release, ${partsOf(answer)}. Stop every gateway and worker of it first.`;
  }
}

/** The number of running processes, in words. */
export function partsOf({ gateways, workers }: { gateways: number; workers: number }): string {
  const count = (n: number, what: string) => (n === 0 ? [] : [`${n} ${what}${n === 1 ? '' : 's'}`]);
  const parts = [...count(gateways, 'gateway'), ...count(workers, 'worker')];
  return `${parts.join(' and ')} ${gateways + workers === 1 ? 'is' : 'are'} running`;
}
