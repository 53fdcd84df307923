import type { WorkProfile } from '@harness/dispatch';
import type { PluginHost, PluginLogger } from '@harness/plugin-kit';
import { folderDigestOf } from './folder-digest.ts';
import { emptyFolder, type Followed, followFolder } from './follow-folder.ts';
import { loadSkills } from './load-skills.ts';
import type { Skill } from './skill.ts';
import type { ImportModule } from './skill-code.ts';
import { profileOfSkill, skillPluginOf } from './skill-plugin.ts';

export type SkillSet = Followed<Skill>;
export type WorkProfiles = ReadonlyMap<string, WorkProfile>;

export interface Following {
  directory: string | undefined;
  logger: PluginLogger;
  /** With what each makes of a session, and the digest of the whole content, at the start and after each change. */
  onChanged(profiles: WorkProfiles, digest: string): Promise<void> | void;
}

/** The skills of a folder, and their tools among the plugins' for as long as they are there. */
export async function followSkills({
  directory,
  logger,
  plugins,
  code,
  importCode,
  forkWaitMs,
  onChanged,
}: Following & {
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
    load: (folder) => loadSkills(folder, { code, importCode }),
    onChanged(skills) {
      plugins.replace(skillPluginOf(skills, { forkWaitMs }));
      const profiles = new Map(skills.map((skill) => [skill.name, profileOfSkill(skill)]));
      return onChanged(profiles, folderDigestOf(skills));
    },
  });
}
