import { basename } from 'node:path';
import type { Diagnostic, PluginHost, PluginLogger } from '@harness/plugin-kit';
import { watch } from 'chokidar';
import { loadSkills } from './load-skills.ts';
import type { Skill } from './skill.ts';
import { skillPluginOf } from './skill-plugin.ts';

/** The skills of a folder as they are now. */
export interface SkillSet {
  readonly skills: readonly Skill[];
  readonly diagnostics: readonly Diagnostic[];
  close(): Promise<void>;
}

/** Long enough for a checkout of many skills, short enough for "within a second". */
const settleMs = 300;

export const noSkills: SkillSet = { skills: [], diagnostics: [], close: async () => undefined };

/**
 * Loads the skills of a folder and gives them to the plugins; again whenever something changes there. A skill whose edit
 * is broken stays as it was, and a diagnostic says so; one that is gone is gone.
 */
export async function followSkills(deps: {
  directory: string;
  plugins: PluginHost;
  logger: PluginLogger;
  onChanged(): void;
}): Promise<SkillSet> {
  const { directory, plugins, logger } = deps;
  let skills: readonly Skill[] = [];
  let diagnostics: readonly Diagnostic[] = [];
  let loading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const load = async () => {
    const now = await loadSkills(directory);
    const kept = keptOf(skills, now);
    const next = [...now.loaded, ...kept];
    const changed = describe(next) !== describe(skills);
    skills = next;
    diagnostics = [
      ...now.diagnostics,
      ...kept.map(({ name, folder }) => ({
        source: folder,
        level: 'warning' as const,
        message: `${folder}: "${name}" stays as it was before the edit`,
      })),
    ];
    for (const { level, message } of now.diagnostics) logger[level === 'error' ? 'error' : 'warn'](message);
    if (!changed) return;
    plugins.replace(skillPluginOf(skills));
    logger.info({ skills: skills.length }, 'skills loaded');
    deps.onChanged();
  };
  /** One after another: an older state must not come after a newer one. */
  const reload = () => {
    loading = loading.then(load).catch((error) => logger.error({ err: error }, 'skills not loaded'));
    return loading;
  };

  const watcher = watch(directory, { ignoreInitial: true, followSymlinks: false });
  watcher.on('all', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void reload(), settleMs);
  });
  watcher.on('error', (error) => logger.error({ err: error }, 'skills are not watched'));
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()));
  await reload();

  return {
    get skills() {
      return skills;
    },
    get diagnostics() {
      return diagnostics;
    },
    async close() {
      clearTimeout(timer);
      await watcher.close();
      await loading;
    },
  };
}

/** Skills that were there, are broken now, and whose name no other took. */
function keptOf(
  before: readonly Skill[],
  { loaded, diagnostics }: { loaded: Skill[]; diagnostics: Diagnostic[] },
): Skill[] {
  const broken = (folder: string) =>
    diagnostics.some(
      ({ level, source }) => level === 'error' && `${source}/`.includes(`/${basename(folder)}/`),
    );
  return before.filter(
    ({ name, folder }) =>
      broken(folder) && !loaded.some((skill) => skill.name === name || skill.folder === folder),
  );
}

/** What callers see of them. */
const describe = (skills: readonly Skill[]) => JSON.stringify(skills);
