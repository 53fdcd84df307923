import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSession } from './start-session.ts';

/** An agent that starts a child process and fails. */
const failingAgent = `#!/bin/sh
sleep 60 >/dev/null 2>&1 &
echo $! > "$ANTHROPIC_TEST_PID"
exit 3
`;

test('a session that fails leaves no process behind, not even its children', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-session-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const executable = join(dir, 'agent');
  await writeFile(executable, failingAgent);
  await chmod(executable, 0o755);
  const pidFile = join(dir, 'pid');
  const opening = startSession({
    profile: { model: undefined, systemPrompt: undefined, tools: [] },
    home: { root: dir, cwd: dir, env: {} },
    conversation: { sessionId: crypto.randomUUID() },
    mcp: undefined,
    modelEnv: { ANTHROPIC_TEST_PID: pidFile },
    path: '/usr/bin:/bin',
    executable,
    onProcess: () => undefined,
    onTranscript: () => undefined,
  });
  await expect(opening).rejects.toMatchObject({ code: 'session_failed' });
  const pid = Number(await readFile(pidFile, 'utf8'));
  expect(pid).toBeGreaterThan(0);
  // A zombie that its new parent has not yet reaped counts as dead.
  const lives = async () =>
    existsSync(`/proc/${pid}`) &&
    !/^State:\s+Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z'));
  await expect.poll(lives).toBe(false);
});
