import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, shareFleet } from '../open-fleet.ts';
import { keys, openTerminal } from '../open-terminal.ts';

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-chat-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openSkills(...names: string[]): Promise<string> {
  const folder = await openFolder();
  for (const name of names) {
    await mkdir(join(folder, name));
    await writeFile(
      join(folder, name, 'SKILL.md'),
      `---\nname: ${name}\ndescription: About ${name}\n---\nDo it.\n`,
    );
  }
  return folder;
}

const sharedFleet = shareFleet();
const threadIn = (shown: string): string => shown.match(/thr_[0-9a-f]{32}/g)?.at(-1) ?? 'none';
const timesOf = (text: string, shown: string) => shown.split(text).length - 1;
/** Numbers from 1, as `stream: N` prints them, without the blanks at which rows may be wrapped. */
const counted = (count: number) => Array.from({ length: count }, (_, n) => n + 1).join('');
const squeezed = (shown: string) => shown.replaceAll(/\s/g, '');

test('responses are streamed above the typed line, which stays intact', async () => {
  const fleet = await sharedFleet();
  const env = { XDG_STATE_HOME: await openFolder() };
  const terminal = openTerminal({ url: fleet.url, env, columns: 60 });
  await terminal.until(/\n> $/);
  terminal.type(keys.interrupt);
  await terminal.until((now) => timesOf('Ctrl-D or /quit ends the chat', now) === 2);

  terminal.type(`stream: 150${keys.enter}`);
  await terminal.until('1 2 3');
  // Longer than a row, and changed in its middle.
  terminal.type('what is typed meanwhile may be longer than a row of this terminal');
  for (let n = 0; n < 'terminal'.length; n++) terminal.type(keys.left);
  terminal.type('small ');
  const shown = await terminal.until((now) => squeezed(now).includes('149150') && now.includes('small'));
  expect(squeezed(shown)).toContain(`>stream:150${counted(150)}>whatistyped`);
  // The emulator's rows end at the cursor's; the rest of the typed line is intact, too.
  terminal.type(keys.interrupt);
  await terminal.until(/\n> $/);
  terminal.type(`say: and on${keys.enter}`);
  expect(squeezed(await terminal.until(/\nand on\n> $/))).toContain(`${counted(150)}>say:andonandon>`);

  terminal.type(`stream: 2000${keys.enter}`);
  await terminal.until((now) => squeezed(now).includes(`>stream:2000${counted(3)}`));
  terminal.type(keys.interrupt);
  await terminal.until('The run was interrupted.');
  terminal.type(`say: still here${keys.enter}`);
  await terminal.until(/\nstill here\n> $/);
  terminal.type(keys.end);
  expect(await terminal.exited).toBe(0);
});

test('tools and tasks are shown in short lines; text of a model cannot control the terminal', async () => {
  const fleet = await sharedFleet();
  const env = { XDG_STATE_HOME: await openFolder(), NO_COLOR: '1' };
  const terminal = openTerminal({ url: fleet.url, env });
  const threadId = threadIn(await terminal.until(/\n> $/));
  terminal.type(`call: time__current_time {"timezone": "UTC"}${keys.enter}`);
  await terminal.until(/→ time__current_time \{"timezone":"UTC"\}\n← \S/);

  terminal.type(`delegate: checkin: half way\\nsay: the report\\nreject: 1${keys.enter}`);
  const shown = await terminal.until('has completed');
  const [task] = /task_[0-9a-f]{6}(?= delegated)/.exec(shown) ?? [];
  const positions = [
    ` delegated: checkin: half way`,
    ` checks in: half way`,
    ` is reviewed, iteration 1`,
    ` is not accepted (needs_revision)`,
    ` is reviewed, iteration 2`,
    ` is accepted`,
    ` has completed`,
  ].map((words) => shown.indexOf(`\n${task}${words}`));
  expect(positions).not.toContain(-1);
  expect(positions).toEqual(positions.toSorted((one, other) => one - other));
  await terminal.until((now) => /\nTask task_.* has completed/.test(now) || now.includes('You said'));

  await fleet.ask(threadId, 'say: one\u001b]0;title\u0007two\u001b[2Jthree\u009b31mfour\rfive');
  await terminal.until(/one.*two.*three.*four\nfive/);
  for (const command of ['\u001b]', '\u001b[2J', '\u009b', '\u0007'])
    expect(terminal.raw()).not.toContain(command);
  for (const colour of ['\u001b[2m', '\u001b[31m']) expect(terminal.raw()).not.toContain(colour);
});

test('a pasted text is one message, whatever it has; while the model is silent the time is shown; resizing leaves one line', async () => {
  const fleet = await sharedFleet();
  const env = { XDG_STATE_HOME: await openFolder() };
  const terminal = openTerminal({ url: fleet.url, env });
  const threadId = threadIn(await terminal.until(/\n> $/));
  terminal.type(keys.paste('sleep: 4000\nsay: slow\n/help\tnot a command\n'));
  await terminal.until(/\n> sleep: 4000↵say: slow↵\/help {4}not a command$/);
  terminal.type(keys.enter);
  await terminal.until(/\nworking, 2 s > $/);
  terminal.type('typed meanwhile');
  await terminal.until(/\nworking, 3 s > typed meanwhile$/);
  await terminal.until(/\nslow\nYou said: \/help {4}not a command\n> typed meanwhile$/);
  const { runs } = await fleet.get<{ runs: object[] }>(`/v1/threads/${threadId}/runs`);
  expect(runs).toHaveLength(1);

  const long = 'word '.repeat(30).trimEnd();
  terminal.type(` ${long}`);
  await terminal.until((now) => now.endsWith(long));
  for (const columns of [60, 37, 120]) {
    terminal.resize(columns);
    await terminal.until(
      (now) => now.endsWith(`> typed meanwhile ${long}`) && timesOf('typed meanwhile', now) === 1,
    );
  }
});

test('a question of a tool is asked, also field by field; without a person it is declined', async () => {
  const plugin = new URL('../asking-plugin.ts', import.meta.url).pathname;
  const fleet = await openFleet({ env: { HARNESS_PLUGINS: plugin } });
  const terminal = openTerminal({ url: fleet.url, env: { XDG_STATE_HOME: await openFolder() } });
  await terminal.until(/\n> $/);
  terminal.type(`call: travel__book {}${keys.enter}`);
  await terminal.until(/\n\? Where to\?\ncity; \/decline declines\n> $/);
  terminal.type(`Rome${keys.enter}`);
  await terminal.until(/\nnights\n> $/);
  terminal.type(`many${keys.enter}`);
  await terminal.until('This must be a whole number.');
  terminal.type(`3${keys.enter}`);
  await terminal.until('3 nights in Rome');
  terminal.type(`call: travel__book {}${keys.enter}`);
  await terminal.until((now) => timesOf('? Where to?', now) === 2);
  terminal.type(`/decline${keys.enter}`);
  await terminal.until('not booked: decline');
  terminal.type(keys.end);
  await terminal.exited;

  const run = await fleet.ask(await fleet.thread(), 'call: travel__book {}');
  expect(run.result).toContain('not booked: decline');
});

test('commands: Tab completes commands and skills, // sends text that begins with a slash; the history is kept', async () => {
  const skills = await openSkills('tea-time', 'coffee');
  const fleet = await openFleet({ env: { HARNESS_SKILLS_DIR: skills } });
  const home = await openFolder();
  const env = { XDG_STATE_HOME: home };
  const terminal = openTerminal({ url: fleet.url, env });
  const threadId = threadIn(await terminal.until(/\n> $/));
  expect(terminal.raw()).toContain('\u001b[2m'); // in colour

  terminal.type(`/us${keys.tab}`);
  await terminal.until(/\n> \/use $/);
  terminal.type(`t${keys.tab}`);
  await terminal.until(/\n> \/use tea-time $/);
  terminal.type(keys.enter);
  await terminal.until('The skill "tea-time" is active');
  expect(await fleet.get(`/v1/threads/${threadId}`)).toMatchObject({ skill: 'tea-time' });
  terminal.type(`/nothing${keys.enter}`);
  await terminal.until('There is no command /nothing.');
  terminal.type(`//use coffee${keys.enter}`);
  await terminal.until('You said: /use coffee');
  expect(await fleet.get(`/v1/threads/${threadId}`)).toMatchObject({ skill: 'tea-time' });
  terminal.type(`/clear${keys.enter}`);
  const other = threadIn(await terminal.until((shown) => threadIn(shown) !== threadId));
  terminal.type(`remember: plum${keys.enter}`);
  await terminal.until((shown) => /plum[\s\S]*plum/.test(shown));
  terminal.type(`/quit${keys.enter}`);
  expect(await terminal.exited).toBe(0);
  const file = join(home, 'harness', 'chat-history');
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const again = openTerminal({ url: fleet.url, env, args: ['--thread', other] });
  await again.until(/\n> $/);
  again.type(keys.up);
  await again.until(/\n> \/quit$/);
  again.type(keys.up);
  await again.until(/\n> remember: plum$/);
  again.type(keys.interrupt);
  await again.until(/\n> $/);
  again.type(`recall:${keys.enter}`);
  await again.until(/\n.*plum.*\n> $/);
});

test('while a gateway restarts nothing is lost or repeated, and typed lines are sent afterwards', async () => {
  const fleet = await openFleet();
  const env = { XDG_STATE_HOME: await openFolder() };
  const terminal = openTerminal({ url: fleet.url, env });
  const threadId = threadIn(await terminal.until(/\n> $/));
  terminal.type(`say: before${keys.enter}`);
  await terminal.until(/\nbefore\n> $/);
  await fleet.send(threadId, 'stream: 100\nsay: while away');
  await terminal.until('1 2 3');
  await fleet.gateway.end(10_000);
  await terminal.until('The gateway is unreachable');
  terminal.type(`say: typed meanwhile${keys.enter}`);
  await terminal.until(/\n> say: typed meanwhile\n/);

  const gateway = await startChild<{ url: string }>({
    name: 'gateway',
    main: fileURLToPath(new URL('../../../gateway/src/main.ts', import.meta.url)),
    env: {
      PATH: process.env.PATH ?? '',
      REDIS_URL: fleet.redisUrl,
      PORT: new URL(fleet.url).port,
      LOG_LEVEL: 'warn',
    },
  });
  onTestFinished(() => gateway.end(10_000));
  await terminal.until('The gateway is reachable again.');
  const shown = await terminal.until(/\ntyped meanwhile\n> $/);
  for (const once of [
    'while away',
    '\nbefore\n',
    '\ntyped meanwhile\n',
    'The gateway is unreachable',
    'is reachable again',
  ])
    expect([once, timesOf(once, shown)]).toEqual([once, 1]);
  const numbers = shown.slice(shown.indexOf('1 2 3')).replaceAll(/^The gateway.*$|^> .*$/gm, '');
  expect(squeezed(numbers)).toContain(counted(100));
  const { runs } = await fleet.get<{ runs: object[] }>(`/v1/threads/${threadId}/runs`);
  expect(runs).toHaveLength(3);
});
