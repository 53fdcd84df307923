/** Published skills with scripts, as they are, in a workspace. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Task } from '@harness/contracts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../../open-fleet.ts';
import { bash, hasSandbox, resultOf, work } from '../../workspace/work.ts';

const skillText = `---
name: Report Maker
description: Makes a report: a file with a title and a count
allowed-tools: Bash(sh:*), Read, Write
---
Run \`sh \${CLAUDE_SKILL_DIR}/scripts/make.sh $ARGUMENTS\` and read references/style.md.
`;

const stateText = `---
name: state
description: Says how things are
allowed-tools: Bash(printf:*), Bash(cat:*)
---
One: !\`printf "<%s>" "$1"\` All: !\`printf "[%s]" "$ARGUMENTS"\` Failed: !\`cat missing.txt\`
Not permitted: !\`touch made-by-skill\`
`;

/** A folder of skills of the published shape: nested in a plugin, with scripts and references. */
async function skillsFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'published-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const skill = join(folder, 'plugins', 'office', 'skills', 'report-maker');
  await mkdir(join(skill, 'scripts'), { recursive: true });
  await mkdir(join(skill, 'references'));
  await writeFile(join(skill, 'SKILL.md'), skillText);
  await writeFile(
    join(skill, 'scripts', 'make.sh'),
    'printf "# %s\\n%s\\n" "$1" "$(wc -c < "$(dirname "$0")/../references/style.md")" > report.md\n',
  );
  await writeFile(join(skill, 'references', 'style.md'), 'Short sentences. !`touch made-by-file`\n');
  const state = join(folder, '.claude', 'skills', 'state');
  await mkdir(state, { recursive: true });
  await writeFile(join(state, 'SKILL.md'), stateText);
  const forked = join(folder, '.claude', 'skills', 'forked');
  await mkdir(forked);
  const front =
    'name: forked\ndescription: Says what there is\ncontext: fork\nallowed-tools: Bash(cat:*), Bash(printf:*)';
  await writeFile(
    join(forked, 'SKILL.md'),
    `---\n${front}\n---\nsay: !\`cat base.txt && printf "[%s]" "$1"\``,
  );
  const commands = join(folder, '.claude', 'commands');
  await mkdir(commands);
  await writeFile(join(commands, 'heard.md'), 'So far: !`printf "heard <%s>" "$ARGUMENTS"`');
  return folder;
}

describe.runIf(hasSandbox)('skills in a workspace', () => {
  test('a script of a skill makes a file, which is downloaded; a changed script is used by the next turn', async () => {
    const folder = await skillsFolder();
    const fleet = await openFleet({ env: { HARNESS_WORKSPACES: 'auto', HARNESS_SKILLS_DIR: folder } });
    const threadId = await fleet.thread({ workspace: true });
    const { run, results } = await work(
      fleet,
      threadId,
      'call: skill__report-maker {"arguments":"Sales"}',
      bash('sh /skills/report-maker/scripts/make.sh Sales'),
      bash('rm report.md'),
      'say: done',
    );
    expect(results[0]?.text).toContain('sh /skills/report-maker/scripts/make.sh Sales');
    expect(results.map(({ isError }) => isError)).toEqual([false, false, true]); // the skill allows `sh` only
    expect(run.status).toBe('success');
    const file = await fetch(`${fleet.url}/v1/threads/${threadId}/files/report.md`);
    expect([file.status, await file.text()]).toEqual([200, '# Sales\n39\n']);
    expect(await resultOf(fleet, threadId, 'echo x > /skills/report-maker/SKILL.md; ls /skills')).toMatch(
      /Read-only.*report-maker/s,
    );

    await writeFile(
      join(folder, 'plugins/office/skills/report-maker/scripts/make.sh'),
      'echo changed > report.md\n',
    );
    await expect
      .poll(() => resultOf(fleet, threadId, 'sh /skills/report-maker/scripts/make.sh; cat report.md'), {
        timeout: 15_000,
        interval: 500,
      })
      .toBe('changed');
  });

  test('a command in a skill runs where the session may run it, with its arguments beside it; elsewhere it stays text', async () => {
    const env = { HARNESS_WORKSPACES: 'auto', HARNESS_SKILLS_DIR: await skillsFolder() };
    const fleet = await openFleet({ env });
    const args = '$(touch a) `touch b` ; touch c';
    const called = `call: skill__state ${JSON.stringify({ arguments: args })}`;
    const asText = [
      '!`printf "<%s>" "$(touch"`',
      `!\`printf "[%s]" "${args}"\``,
      '!`cat missing.txt`',
      '!`touch made-by-skill`',
    ];

    const threadId = await fleet.thread({ workspace: true });
    const { results } = await work(fleet, threadId, called, 'say: done');
    const text = results[0]?.text ?? '';
    expect(text).toContain(`One: <$(touch> All: [${args}] Failed: cat: missing.txt: No such file`);
    expect(text).toContain('[the command failed with exit code 1]');
    expect(text).toContain('Not permitted: !`touch made-by-skill`');
    // The text of a file is no text of a skill, though a tool for skills reads it.
    const file = 'call: skill__read_file {"skill":"report-maker","path":"references/style.md"}';
    expect((await work(fleet, threadId, file, 'say: done')).results[0]?.text).toContain(
      '!`touch made-by-file`',
    );
    expect(await resultOf(fleet, threadId, 'ls -A')).toBe('(Bash completed with no output)');

    const withoutShell = await fleet.thread({ allowedTools: ['Read', 'skill__*'] });
    const withoutSandbox = await fleet.thread({ allowedTools: ['skill__*'] });
    for (const other of [withoutShell, withoutSandbox]) {
      const [result] = (await work(fleet, other, called, 'say: done')).results;
      for (const command of asText) expect(result?.text).toContain(command);
    }
  });

  test('the commands of a skill that a sub-agent follows run where it works', async () => {
    const env = { HARNESS_WORKSPACES: 'auto', HARNESS_SKILLS_DIR: await skillsFolder() };
    const fleet = await openFleet({ env });
    const threadId = await fleet.thread({ workspace: true });
    await work(fleet, threadId, bash('printf "of the parent" > base.txt'), 'say: done');
    const forked = 'call: skill__forked {"arguments":"$(touch x)"}';
    const { results } = await work(fleet, threadId, forked, 'say: done');
    expect(results[0]).toEqual({ isError: false, text: expect.stringContaining('of the parent[$(touch]') });
    const { tasks } = await fleet.get<{ tasks: Task[] }>('/v1/tasks');
    expect(tasks.map(({ files }) => files)).toEqual([null]);
  });

  test('the commands of an active skill run before each message, which is their arguments', async () => {
    const env = { HARNESS_WORKSPACES: 'auto', HARNESS_SKILLS_DIR: await skillsFolder() };
    const fleet = await openFleet({ env });
    const threadId = await fleet.thread({ workspace: true });
    await fleet.post(`/v1/threads/${threadId}/commands`, { command: '/use heard' });
    for (const word of ['plum', 'fig']) await work(fleet, threadId, `say: ${word}`);
    // What the model got is in the agent's own record of the conversation.
    const heard = await resultOf(fleet, threadId, 'grep -rhoE "heard <say: [a-z]+>" $HOME | sort -u');
    expect(heard).toBe('heard <say: fig>\nheard <say: plum>');
  });
});
