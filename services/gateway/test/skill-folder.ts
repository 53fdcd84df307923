import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder with skills of these names, deleted after the test. */
export async function openSkills(names: readonly string[] = []): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-skills-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of names) await writeSkill(folder, name);
  return folder;
}

/** Writes `<name>/SKILL.md`. `front`: further lines of front matter, each with its line end. */
export async function writeSkill(
  folder: string,
  name: string,
  { body = 'Do it.', front = '' } = {},
): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(
    join(folder, name, 'SKILL.md'),
    `---\nname: ${name}\ndescription: About ${name}\n${front}---\n${body}\n`,
  );
}

/** A folder of agents with these lines of front matter, deleted after the test. */
export async function openAgents(agents: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-agents-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, front] of Object.entries(agents)) await writeAgent(folder, name, front);
  return folder;
}

/** Writes `<name>.md` of an agent. `front`: a further line of front matter. */
export const writeAgent = (folder: string, name: string, front = '') =>
  writeFile(
    join(folder, `${name}.md`),
    `---\nname: ${name}\ndescription: About ${name}\n${front}${front && '\n'}---\nYou are ${name}.\n`,
  );
