import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dispatch, EmbeddedCommands, SkillFiles } from '@harness/dispatch';
import { openSkillStore } from '@harness/workspaces';

/** The skills that a tenant may use, as sandboxes see them. */
export interface SkillFolder {
  /** Their files, each skill's under its name. */
  folder: string;
  /** Changes when the files do. */
  signature: string;
  /** The embedded commands of a skill; undefined = there are none. Throws `unavailable`. */
  commandsOf(skill: string): Promise<EmbeddedCommands | undefined>;
}

/** Folders with the files of skills, which sandboxes can read. */
export interface SkillFolders {
  /** The folder for a tenant, with the skills that are published now; undefined = there are none. Throws `unavailable`. */
  of(tenant: string): Promise<SkillFolder | undefined>;
}

/** Creates the folders below `folder`, one for each set of skills that some tenant may use. */
export function createSkillFolders({
  dispatch,
  filesDir,
  folder: root,
}: {
  dispatch: Pick<Dispatch, 'profiles'>;
  filesDir: string;
  folder: string;
}): SkillFolders {
  const store = openSkillStore(filesDir);
  const made = new Map<string, Promise<void>>();
  let known: { digest: string; skills: SkillFiles[] } | undefined;

  const published = async (): Promise<SkillFiles[]> => {
    const digest = await dispatch.profiles.skillsDigest();
    if (digest === undefined) return [];
    if (known?.digest !== digest) known = { digest, skills: await dispatch.profiles.skillFiles() };
    return known.skills;
  };
  const make = async (folder: string, skills: readonly SkillFiles[]) => {
    await mkdir(root, { recursive: true, mode: 0o711 });
    await mkdir(folder, { mode: 0o755 });
    for (const { name, version } of skills) {
      await mkdir(join(folder, name), { mode: 0o755 });
      await store.restore(version, join(folder, name));
    }
    await openForAll(folder);
  };

  return {
    async of(tenant) {
      const skills = (await published()).filter(({ tenants }) => !tenants || tenants.includes(tenant));
      if (skills.length === 0) return undefined;
      const names = skills.map(({ name, version }) => `${name} ${version}`).sort();
      const signature = createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 32);
      const folder = join(root, signature);
      const making = made.get(signature) ?? make(folder, skills);
      made.set(signature, making);
      try {
        await making;
      } catch (error) {
        made.delete(signature);
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
      const own = new Set(skills.map(({ name }) => name));
      return {
        folder,
        signature,
        commandsOf: async (name) => (own.has(name) ? dispatch.profiles.skillCommands(name) : undefined),
      };
    },
  };
}

/** Lets every user read the folder: sessions run as users of their own. */
async function openForAll(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, 0o755);
  }
}
