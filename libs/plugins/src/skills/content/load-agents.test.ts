import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadAgents } from './load-agents.ts';

test.each(['relative', 'link', 'slash'])(
  'agents are read from a folder that is named as a %s path',
  async (how) => {
    const folder = await mkdtemp(join(tmpdir(), 'harness-agents-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const agents = join(folder, 'agents');
    await mkdir(agents);
    await writeFile(join(agents, 'clerk.md'), '---\nname: clerk\ndescription: x\n---\nYou are a clerk.\n');
    await symlink(agents, join(folder, 'link'));
    const paths = {
      relative: relative(process.cwd(), agents),
      link: join(folder, 'link'),
      slash: `${agents}/`,
    };
    const { loaded, diagnostics } = await loadAgents(paths[how as keyof typeof paths]);
    expect(diagnostics).toEqual([]);
    expect(loaded).toMatchObject([{ name: 'clerk', instructions: 'You are a clerk.' }]);
  },
);
