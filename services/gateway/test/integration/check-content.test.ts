import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const main = fileURLToPath(new URL('../../src/content/check-content.ts', import.meta.url));

/** Runs the command; resolves with its exit code and output. */
const check = (...args: string[]) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    execFile(process.execPath, [main, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });

test('content -- check prints what loads, with which tools, and why the rest does not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'harness-content-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const files = {
    'plugins/tea/skills/brew/SKILL.md':
      '---\nname: brew\ndescription: Tea\nallowed-tools: time__current_time\n---\nBrew.',
    'plugins/tea/commands/serve.md': 'Serve $1.',
    '.claude/agents/clerk.md':
      '---\nname: clerk\ndescription: A clerk\ntools: Read, Grep\n---\nYou are a clerk.',
    'docs/plan.md': '# No agent\n\n---\nname: nothing\n---\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const good = await check('check', folder);
  expect(good.output.split('\n').filter((line) => /^(skill|command|agent) /.test(line))).toEqual([
    'skill    brew   time__current_time',
    'command  serve  all tools',
    'agent    clerk  Read, Grep',
  ]);
  expect(good.output).not.toContain('warning ');
  expect(good.output).toContain('1 skills, 1 commands, 1 agents load; 0 errors');
  expect(good.code).toBe(0);

  await writeFile(join(folder, 'plugins/tea/skills/brew/SKILL.md'), '---\nname: [brew\n---\n');
  const bad = await check('check', folder);
  expect(bad.output).toMatch(/error +.*brew\/SKILL\.md:\d: bad YAML/);
  expect(bad.code).toBe(1);
  expect(await check('list')).toMatchObject({
    code: 1,
    output: expect.stringContaining('Usage: npm run content'),
  });
});
