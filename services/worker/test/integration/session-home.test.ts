import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSessionHomes } from '../../src/session/session-home.ts';

/** Folders that no path can name, with one below them that nobody may enter. */
function nestTooDeep(folder: string): void {
  const script = `
    const { mkdirSync, chmodSync } = require('node:fs');
    for (let depth = 0; depth < 30; depth++) {
      mkdirSync('x'.repeat(250));
      process.chdir('x'.repeat(250));
    }
    mkdirSync('a/b', { recursive: true });
    chmodSync('a', 0);`;
  const made = spawnSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' });
  expect(made.stderr).toBe('');
}

test('folders are removed, and those of killed workers swept, whatever a session has made of them', async () => {
  const tmp = mkdtempSync(join(tmpdir(), 'homes-'));
  onTestFinished(() => void spawnSync('rm', ['-rf', tmp]));
  await chmod(tmp, 0o755);
  vi.stubEnv('TMPDIR', tmp);
  onTestFinished(() => void vi.unstubAllEnvs());
  const ended = spawnSync('true').pid;
  const left = join(tmp, `harness-worker-${ended}-x`);
  mkdirSync(join(left, 'session/work'), { recursive: true });
  nestTooDeep(join(left, 'session/work'));
  const homes = await openSessionHomes();
  expect(existsSync(left)).toBe(false);
  const home = homes.open('one');
  nestTooDeep(home.cwd);
  await homes.remove('one');
  expect(existsSync(home.root)).toBe(false);
  nestTooDeep(homes.open('two').cwd);
  await homes.close();
  expect(existsSync(homes.root)).toBe(false);
});
