/**
 * Which releases may work on the data: each process asks once, at its start. See data-changes.ts for what a change of the
 * version means, and migrate-data.ts for one-way changes.
 */
import type { Log } from '../redis/log.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { type DataChange, dataChanges } from './data-changes.ts';

export const versionScripts = scriptsBeside(import.meta.url, { unconfirmed: ['data-version'] });

/** Whether this process may work on the data. `message` is one line for the operator. */
export type Admission = { outcome: 'admitted' } | { outcome: 'refused'; message: string };

/** The version of the data, as one process sees it. */
export interface DataVersion {
  /**
   * To be awaited before anything else is read or written. Records the version on an empty database and after a change
   * that needs no migration. Throws `unavailable` when Redis does not answer.
   */
  enter(): Promise<Admission>;
  close(): void;
}

/** What the script data-version.lua answers. */
export type VersionAnswer =
  | { outcome: 'ok'; from?: number }
  | { outcome: 'newer'; found: number; least: number }
  | { outcome: 'migrate' | 'unfinished'; found: number }
  | { outcome: 'running'; found: number; gateways: number; workers: number };

/** What a release records of itself, derived from its changes. */
export interface ReleaseVersions {
  data: number;
  /** Releases of this data version and later can run beside this one, and on what it writes. */
  least: number;
  /** The oldest data version that is read without a migration. */
  readFrom: number;
}

/** The version that counts where none is recorded. */
const firstVersion = 1;

/** A database that was emptied under a living fleet has its version again after at most this, ms. */
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

/** What changes between two data versions, as one text. */
export const saysOf = (changes: readonly DataChange[], from: number): string =>
  changes
    .filter(({ to }) => to > from)
    .map(({ says }) => says)
    .join('; ');

/** `changes` is given by tests alone. */
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
      // Without a record the data would count as that of the first releases.
      keeping ??= setInterval(() => {
        scripts
          .call(versionScripts['data-version'], { move: 'keep', data, least })
          .catch((error) => logger.debug({ err: error }, 'data version not looked at'));
      }, keepMs).unref();
      return { outcome: 'admitted' };
    },
    close: () => clearInterval(keeping),
  };
}

/** Why this release does not start, or does not migrate: one line for the operator. */
export function refusalOf(
  answer: Exclude<VersionAnswer, { outcome: 'ok' }>,
  { mine, changes }: { mine: number; changes: readonly DataChange[] },
): string {
  const { found } = answer;
  const versions = `The data in Redis has version ${found}, this release has ${mine}`;
  switch (answer.outcome) {
    case 'newer':
      return `${versions}, and it takes a release of version ${answer.least} or later. Start such a release, or restore a backup from before the upgrade.`;
    case 'unfinished':
      return `A migration of the data in Redis to version ${found} has not finished. Let it finish, or run \`npm run migrate\` again.`;
    case 'migrate':
      return `${versions}, and there is no way back after this change: ${saysOf(changes, found)}. Stop every gateway and worker, make a backup, then run \`npm run migrate\`.`;
    case 'running':
      return `${versions}, and the two cannot run side by side: ${saysOf(changes, found)}. Of the other release ${partsOf(answer)}: stop them first.`;
  }
}

/** How many processes run, in words. */
export function partsOf({ gateways, workers }: { gateways: number; workers: number }): string {
  const count = (n: number, what: string) => (n === 0 ? [] : [`${n} ${what}${n === 1 ? '' : 's'}`]);
  const parts = [...count(gateways, 'gateway'), ...count(workers, 'worker')];
  return `${parts.join(' and ')} ${gateways + workers === 1 ? 'is' : 'are'} running`;
}
