import {
  type AgentSet,
  followAgents,
  followSkills,
  type SkillSet,
  type WorkProfiles,
} from '@harness/plugins';
import type { AppDeps } from '../app-deps.ts';
import type { Changes } from './list-changes.ts';
import { createPublishedFolders, type FolderKind, type PublishedFolders } from './published-folders.ts';

/** What people wrote: offered here, and published for the workers, which need not have the folders. */
export async function followSkillsAndAgents(
  deps: AppDeps,
  changes: Changes,
): Promise<{ skills: SkillSet; agents: AgentSet; folders: PublishedFolders; close(): Promise<void> }> {
  const { plugins, logger, dispatch, skillsDirectory, agentsDirectory } = deps;
  /** What is there at the start changes for nobody. */
  let started = false;
  const folders = createPublishedFolders({ dispatch, logger, checking: deps.folderChecking });
  const publish =
    (kind: FolderKind, directory = '') =>
    (profiles: WorkProfiles, digest: string) =>
      folders.publish(kind, { directory, profiles, digest });
  const publishSkills = publish('skills', skillsDirectory);
  const skills = await followSkills({
    directory: skillsDirectory,
    code: deps.skillsCode ?? false,
    importCode: plugins.importTools,
    forkWaitMs: deps.forkWaitMs,
    plugins,
    logger,
    async onChanged(profiles, digest) {
      if (started) changes.tell(['tools', 'resources']);
      await publishSkills(profiles, digest);
    },
  });
  const agents = await followAgents({
    directory: agentsDirectory,
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
