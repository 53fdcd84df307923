/** Commands in the instructions of skills, in a real sandbox. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '@harness/runtime';
import { describe, expect, onTestFinished, test } from 'vitest';
import { finishSkills, outputsOf, withOutputs } from '../../src/sandbox/embedded-commands.ts';
import { createSandboxes } from '../../src/sandbox/sandboxes.ts';
import { refusalOf } from '../../src/sandbox/tool-rules.ts';
import { openSessionHomes } from '../../src/session/session-home.ts';

const mib = 1024 * 1024;
const limits = {
  processes: 64,
  dataBytes: 2048 * mib,
  fileBytes: 64 * mib,
  tmpBytes: 16 * mib,
  memoryBytes: 1024 * mib,
  diskBytes: 64 * mib,
  files: 1_000,
};
const levels = ['bubblewrap', 'bubblewrap-bound-proc'] as const;
const hasSandbox = process.platform === 'linux' && existsSync('/usr/bin/bwrap');

/** The sandbox of a session whose turn has begun, and what runs the commands of a skill in it. */
async function open(level: (typeof levels)[number], egress: string[] = []) {
  const homes = await openSessionHomes();
  const logger = createLogger('test', 'silent');
  const path = '/usr/bin:/bin';
  const modelEnv = { ANTHROPIC_API_KEY: 'sk-ant-operators-secret' };
  const sandboxes = await createSandboxes({
    root: homes.root,
    modelEnv,
    limits,
    egress,
    path,
    wanted: level,
    logger,
  });
  const home = homes.open('one');
  const enclosure = await sandboxes.open({ home });
  onTestFinished(async () => {
    await enclosure.close();
    sandboxes.close();
    await homes.close();
  });
  enclosure.beginTurn();
  const run = async (
    texts: string[],
    { args = '', rules = ['Bash'], ...deps }: { args?: string; rules?: string[]; limitMs?: number } = {},
  ) => [
    ...(
      await outputsOf(
        { commands: { texts, first: 1 }, args },
        { run: enclosure.run, refusalOf: async (call) => refusalOf(call, rules, rules), ...deps },
      )
    ).values(),
  ];
  return { enclosure, run, files: () => readdir(join(home.root, 'work')) };
}

describe.runIf(hasSandbox).each(levels)('at level %s', (level) => {
  test('a command writes to the workspace; one that fails, says how', async () => {
    const { run, files } = await open(level);
    expect(await run(['echo made > made; pwd', 'echo gone; exit 3', 'missing-program'])).toEqual([
      '/workspace',
      'gone\n[the command failed with exit code 3]',
      'bash: line 1: missing-program: command not found\n[the command failed with exit code 127]',
    ]);
    expect(await files()).toEqual(['made']);
  });

  test.each([
    '; touch x',
    '$(touch x)',
    '`touch x`',
    'a\ntouch x',
    `'; touch x; '`,
    '"; touch x; "',
    '| touch x',
    'a[$(touch x)]',
  ])('the argument %j is never run', async (args) => {
    const { run, files } = await open(level);
    const rules = ['Bash(printf:*)'];
    const [all, quoted] = await run(
      ['printf "%s" "$ARGUMENTS"', 'printf "%s," $1 "$ARGUMENTS[0]" $ARGUMENTS'],
      {
        args,
        rules,
      },
    );
    expect(all).toBe(args);
    expect(quoted).toContain('touch');
    // Nor where the shell would evaluate it: those are not what a pattern permits.
    const evaluated = [
      'printf $((ARGUMENTS))',
      'printf $[$1]',
      `printf \${PATH:$1}`,
      '$ARGUMENTS',
      'eval $1',
    ];
    expect(await run(evaluated, { args, rules })).toEqual([]);
    expect(await files()).toEqual([]);
  });

  test('a command that the session may not run stays text', async () => {
    const { run, files } = await open(level);
    const texts = ['touch x', 'git status; touch x', 'git --version 2>&1'];
    const outputs = await run(texts, { rules: ['Bash(git:*)', 'Read'] });
    expect(outputs).toEqual([expect.stringMatching(/^git version/)]);
    expect(await run(['git --version'], { rules: ['Read'] })).toEqual([]);
    expect(await files()).toEqual([]);
  });

  test('time and output are bounded, and nothing stays', async () => {
    const { run, files, enclosure } = await open(level);
    // The command ends only when every process with its output open has ended, the one that it left included.
    const [slow, next] = await run(['echo first; sleep 100 & sleep 100', 'echo next'], { limitMs: 3_000 });
    expect(slow).toBe('first\n[the command was ended: it took longer than 3 s]');
    expect(next).toBe('[not run: the commands before it took 3 s]');
    const [long] = await run(['head -c 100M /dev/zero | tr "\\0" x; touch after']);
    expect(long).toMatch(/^x{30000}\n\[the command was ended: it wrote more than is kept\]$/);
    const sums = await run(
      ['a', 'b', 'c', 'd', 'e'].map((name) => `head -c 29K /dev/zero | tr "\\0" ${name}`),
    );
    expect(sums.join('').length).toBeLessThan(101_000);
    const ending = run(['touch begun; sleep 100']);
    await expect.poll(files).toEqual(['begun']);
    await enclosure.endTurn();
    expect(await ending).toEqual(['[the command was ended: its turn or its limits ended it]']);
    expect(await run(['echo more'])).toEqual(['[the command did not start: no turn is in progress]']);
    expect(await files()).toEqual(['begun']);
  });

  test('it reaches the allowed hosts, and no other', async () => {
    const { run } = await open(level, ['allowed.example']);
    const [seen, again] = await run([
      'curl -s -m 10 http://other.example/',
      'curl -sS -m 5 --noproxy "*" http://1.1.1.1/',
    ]);
    expect(seen).toContain('other.example is not among HARNESS_EGRESS');
    expect(again).toMatch(/Could(n't| not) connect|unreachable/i);
  });

  test('it has no secret and cannot reach the gateway', async () => {
    const { run } = await open(level);
    const tries = 'env; cat /proc/*/environ 2>&1 | tr "\\0" "\\n"; (exec 3<>/dev/tcp/127.0.0.1/22) 2>&1';
    const [seen = ''] = await run([tries]);
    expect(seen).toMatch(/HOME=.*refused/s);
    expect(seen).not.toMatch(/operators-secret|ANTHROPIC|REDIS/);
  });
});

test('outputs replace their commands, and commands within outputs do not run', () => {
  const outputs = new Map([
    ['!`a $1`', 'all of $& and !`b`'],
    ['!`b`', 'B'],
  ]);
  expect(withOutputs('x !`a $1` y !`b` z !`c`', outputs)).toBe('x all of $& and !`b` y B z !`c`');
});

describe('the result of a tool', () => {
  const ran: string[] = [];
  const finish = finishSkills({
    commandsOf: async (skill) => (skill === 'state' ? { texts: ['git log $1'], first: 1 } : undefined),
    refusalOf: async () => undefined,
    async run(command) {
      ran.push(command.join(' '));
      return { output: 'the log', isCut: false, exitCode: 0 };
    },
  });
  const text = 'So: !`git log main` and !`rm x`';
  const finished = async (name: string, input: Record<string, unknown>, more: object = {}) => {
    ran.length = 0;
    const { content } = await finish({ name, input }, { content: [{ type: 'text', text }], ...more });
    return (content as { text: string }[])[0]?.text;
  };

  test.each([
    ['skill__state', { arguments: 'main' }],
    ['tools__call', { name: 'skill__state', arguments: { arguments: 'main' } }],
  ])('of %s has the output of what its author wrote, and of nothing else', async (name, input) => {
    expect(await finished(name, input)).toBe('So: the log and !`rm x`');
    expect(ran).toEqual(['bash --norc --noprofile -c git log $1 bash main']);
  });

  test.each([
    ['github__issue', { arguments: 'main' }],
    ['skill__other', { arguments: 'main' }],
    ['skill__read_file', { skill: 'state', path: 'SKILL.md', arguments: 'main' }],
    ['skill__state_tool', { arguments: 'main' }],
    ['tools__call', { name: 'github__issue', arguments: { name: 'skill__state' } }],
    ['tools__call', { name: ['skill__state'] }],
    ['skill__state', { arguments: 'other' }],
  ])('of %s with %j is as it came', async (name, input) => {
    expect(await finished(name, input)).toBe(text);
    expect(await finished('skill__state', { arguments: 'main' }, { isError: true })).toBe(text);
    expect(ran).toEqual([]);
  });
});
