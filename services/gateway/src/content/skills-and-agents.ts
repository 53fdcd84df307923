/**
 * Skills and agents that people wrote into folders of this gateway.
 *
 * This folder:
 *   published-folders.ts   publishes them to the workers, and compares them with those of other gateways
 *   list-changes.ts        notifies clients of changed tools, resources and prompts
 *   thread-profile.ts      which skills and agents a thread may have
 *   check-content.ts       `npm run content -- check <folder>`
 */
import {
  type AgentSet,
  followAgents,
  followSkills,
  type Skill,
  type SkillSet,
  type WorkProfiles,
} from '@harness/plugins';
import type { Logger } from '@harness/runtime';
import type { TenantFiles } from '@harness/workspaces';
import type { AppDeps } from '../app-deps.ts';
import type { Changes } from './list-changes.ts';
import { createPublishedFolders, type FolderKind, type PublishedFolders } from './published-folders.ts';

/**
 * Follows the folders of skills and agents: offers their content here, and publishes it to the workers, which
 * need not have the folders.
 */
export async function followSkillsAndAgents(
  deps: AppDeps,
  changes: Changes,
): Promise<{ skills: SkillSet; agents: AgentSet; folders: PublishedFolders; close(): Promise<void> }> {
  const { plugins, logger, dispatch, skillsDirectory, agentsDirectory } = deps;
  const workspaces = (deps.workspaces ?? 'off') !== 'off';
  /** The first read is not a change to report. */
  let started = false;
  const folders = createPublishedFolders({ dispatch, logger, checking: deps.folderChecking });
  const publish =
    (kind: FolderKind, directory = '') =>
    (profiles: WorkProfiles, digest: string) =>
      folders.publish(kind, { directory, profiles, digest });
  const publishSkills = publish('skills', skillsDirectory);
  const skills = await followSkills({
    directory: skillsDirectory,
    workspaces,
    code: deps.skillsCode ?? false,
    importCode: plugins.importTools,
    forkWaitMs: deps.forkWaitMs,
    storeFiles: deps.files?.skills && storingIn(deps.files.skills, logger),
    plugins,
    logger,
    async onChanged(profiles, digest) {
      if (started) changes.report(['tools', 'resources']);
      await publishSkills(profiles, digest);
    },
  });
  const agents = await followAgents({
    directory: agentsDirectory,
    workspaces,
    logger,
    onChanged: publish('agents', agentsDirectory),
  });
  started = true;
  return {
    skills,
    agents,
    folders,
    async close() {
      folders.close();
      await Promise.all([skills.close(), agents.close()]);
    },
  };
}

/** Higher than the limits of a skill's offered resources: the folder also holds files that are not offered. */
const skillLimits = { bytes: 64 * 1024 * 1024, files: 5_000 };

/** Stores the folder of a skill, for sessions with a workspace. If that fails, they lack only the skill's files. */
const storingIn = (store: TenantFiles, logger: Logger) => async (skill: Skill) => {
  if (skill.kind === 'command') return undefined;
  try {
    return (await store.snapshot(skill.folder, { limits: skillLimits })).version;
  } catch (error) {
    logger.warn({ err: error, skill: skill.name }, 'files of a skill are not stored: workspaces lack them');
    return undefined;
  }
};
