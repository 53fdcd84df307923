/** Published skills with scripts, as they are, in a workspace. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  await writeFile(join(skill, 'references', 'style.md'), 'Short sentences.');
  return folder;
}

describe.runIf(hasSandbox)('skills in a workspace', () => {
  test('a skill with scripts makes a file, which is downloaded; a changed script is used by the next turn', async () => {
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
    expect([file.status, await file.text()]).toEqual([200, '# Sales\n16\n']);
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
});
