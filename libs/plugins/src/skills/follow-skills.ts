import type { WorkProfile } from '@harness/dispatch';
import type { PluginHost, PluginLogger } from '@harness/plugin-kit';
import { loadSkills } from './content/load-skills.ts';
import { folderDigestOf } from './folder-digest.ts';
import { emptyFolder, type Followed, followFolder } from './follow-folder.ts';
import type { Skill } from './skill.ts';
import type { ImportModule } from './skill-code.ts';
import { profileOfSkill, skillPluginOf } from './skill-plugin.ts';

/** The skills that are loaded now. */
export type SkillSet = Followed<Skill>;
/** Work profiles by the name of their skill or agent. */
export type WorkProfiles = ReadonlyMap<string, WorkProfile>;

/** What following a folder needs. */
export interface Following {
  /** Undefined: there is no folder to follow. */
  directory: string | undefined;
  /** Whether threads may have workspaces, and so built-in tools. */
  workspaces: boolean;
  logger: PluginLogger;
  /** Called at the start and after each change, with the work profiles and the digest of the whole content. */
  onChanged(profiles: WorkProfiles, digest: string): Promise<void> | void;
}

/**
 * Loads the skills of a folder, and again after each change. Each time, the plugin `skill` is replaced by one with their
 * tools. `code`: load `tools.ts` of skills.
 */
export async function followSkills({
  directory,
  workspaces,
  logger,
  plugins,
  code,
  importCode,
  forkWaitMs,
  storeFiles,
  onChanged,
}: Following & {
  /** Stores the folder of a skill for sessions with a workspace; returns its version. */
  storeFiles?: ((skill: Skill) => Promise<string | undefined>) | undefined;
  plugins: PluginHost;
  code: boolean;
  importCode?: ImportModule | undefined;
  forkWaitMs?: number | undefined;
}): Promise<SkillSet> {
  if (directory === undefined) return emptyFolder;
  return followFolder<Skill>({
    directory,
    what: 'skills',
    logger,
    load: (folder) => loadSkills(folder, { code, importCode, workspaces }),
    async onChanged(skills) {
      plugins.replace(skillPluginOf(skills, { forkWaitMs }));
      const profiles = new Map<string, WorkProfile>();
      for (const skill of skills) profiles.set(skill.name, profileOfSkill(skill, await storeFiles?.(skill)));
      return onChanged(profiles, folderDigestOf(skills));
    },
  });
}
