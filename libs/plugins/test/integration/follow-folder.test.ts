import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadSkills } from '../../src/skills/content/load-skills.ts';
import { followFolder } from '../../src/skills/follow-folder.ts';
import type { Skill } from '../../src/skills/skill.ts';

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-follow-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function writeSkill(folder: string, body: string, name = 'tea'): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'SKILL.md'), `---\nname: ${name}\ndescription: x\n---\n${body}\n`);
}

async function follow(directory: string) {
  const logged: string[] = [];
  let wake: () => void = () => undefined;
  const log = (_fields: unknown, message?: unknown) => {
    logged.push(String(message ?? _fields));
    wake();
  };
  const followed = await followFolder<Skill>({
    directory,
    what: 'skills',
    logger: { debug: log, info: log, warn: log, error: log },
    load: loadSkills,
    onChanged: () => wake(),
  });
  onTestFinished(followed.close);
  return {
    followed,
    bodies: () => followed.loaded.map(({ name, instructions }) => `${name}: ${instructions}`),
    /** Resolves when the step has caused another state, or a diagnostic. */
    async after(step: () => Promise<unknown>) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await step();
      await changed;
    },
  };
}

test('a link to the folder is followed, also after it changes', async () => {
  const base = await openFolder();
  const [one, two, link] = [join(base, 'one'), join(base, 'two'), join(base, 'current')];
  await writeSkill(one, 'one');
  await writeSkill(two, 'two');
  await symlink(one, link);
  const { bodies, after, followed } = await follow(link);
  expect(bodies()).toEqual(['tea: one']);
  await after(() => writeSkill(one, 'edited'));
  expect(bodies()).toEqual(['tea: edited']);
  await symlink(two, `${link}.new`);
  await after(() => rename(`${link}.new`, link));
  expect(bodies()).toEqual(['tea: two']);
  await after(() => writeSkill(two, 'edited, too'));
  expect(bodies()).toEqual(['tea: edited, too']);
  await after(() => writeFile(join(two, 'tea/SKILL.md'), 'broken'));
  await expect.poll(() => followed.diagnostics).toHaveLength(2);
  expect(bodies()).toEqual(['tea: edited, too']);
});

test('a folder may be missing at first, be deleted, and be created again', async () => {
  const directory = join(await openFolder(), 'a/skills');
  const { bodies, after, followed } = await follow(directory);
  expect(followed.diagnostics).toMatchObject([{ level: 'warning' }]);
  await after(() => writeSkill(directory, 'one'));
  expect(bodies()).toEqual(['tea: one']);
  await after(() => rm(directory, { recursive: true }));
  await expect.poll(bodies).toEqual([]);
  await after(() => writeSkill(directory, 'two'));
  expect(bodies()).toEqual(['tea: two']);
});

test('a folder without its SKILL.md is no longer a skill', async () => {
  const directory = await openFolder();
  await writeSkill(directory, 'one');
  await writeFile(join(directory, 'tea/notes.txt'), 'x');
  const { bodies, after, followed } = await follow(directory);
  await after(() => rm(join(directory, 'tea/SKILL.md')));
  await expect.poll(bodies).toEqual([]);
  expect(followed.diagnostics).toMatchObject([
    { level: 'warning', message: expect.stringContaining('no file') },
  ]);
});

test('a folder with constant writes is still reloaded', async () => {
  const directory = await openFolder();
  const { bodies, after } = await follow(directory);
  let count = 0;
  const noise = setInterval(() => writeFileSync(join(directory, 'log.txt'), String(count++)), 50);
  onTestFinished(() => clearInterval(noise));
  await after(() => writeSkill(directory, 'one'));
  expect(bodies()).toEqual(['tea: one']);
});

test('two skills swap their names; a skill with a broken edit can be deleted', async () => {
  const directory = await openFolder();
  await writeSkill(directory, 'one', 'a');
  await writeSkill(directory, 'two', 'b');
  const { bodies, after } = await follow(directory);
  await after(async () => {
    await rename(join(directory, 'a'), join(directory, 'c'));
    await rename(join(directory, 'b'), join(directory, 'a'));
    await rename(join(directory, 'c'), join(directory, 'b'));
  });
  expect(bodies()).toEqual(['b: two', 'a: one']);
  await after(() => writeFile(join(directory, 'a/SKILL.md'), 'broken'));
  expect(bodies().toSorted()).toEqual(['a: one', 'b: two']);
  await after(() => rm(join(directory, 'a'), { recursive: true }));
  expect(bodies()).toEqual(['a: one']);
});
