import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { enclose, type ProcessLimits, type SandboxLevel } from './bubblewrap.ts';
import { writeOwnEtc } from './own-etc.ts';
import type { SandboxUsers } from './sandbox-users.ts';

/** What this machine can enclose processes with; or the reason why it cannot. */
export type Probed = { level: SandboxLevel } | { level: 'none'; reason: string };

const levels: readonly SandboxLevel[] = ['bubblewrap', 'bubblewrap-bound-proc'];
const timeoutMs = 10_000;

/** What a probe needs. */
export interface Probing {
  /** A folder that every user may enter. */
  root: string;
  limits: ProcessLimits;
  users: SandboxUsers;
  /** The environment's PATH. */
  path: string;
  wanted: SandboxLevel | 'auto';
}

/** Runs a program in a sandbox of each level, the stricter first, until one succeeds; as another user, where that is possible. */
export async function probeSandbox({ root, limits, users, path, wanted }: Probing): Promise<Probed> {
  if (process.platform !== 'linux')
    return { level: 'none', reason: `bubblewrap needs Linux; this is ${process.platform}` };
  const folder = join(root, 'probe');
  mkdirSync(folder, { mode: 0o755 });
  const user = users.take();
  const etc = writeOwnEtc(folder);
  const box = { writable: [], readable: [], workspace: folder, etc, limits, uid: user?.uid };
  try {
    let reason = '';
    for (const level of wanted === 'auto' ? levels : [wanted]) {
      const failure = await failureOf(enclose(level, box, ['true']), path);
      if (failure === undefined) return { level };
      reason ||= failure;
    }
    return { level: 'none', reason };
  } finally {
    user?.release();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Why a command does not run; undefined: it does. */
const failureOf = ([command = '', ...args]: string[], path: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(command, args, { timeout: timeoutMs, env: { PATH: path } }, (error, _out, text) => {
      if (!error) resolve(undefined);
      else if (/bwrap: No such file|failed to execute bwrap|choom: .*bwrap/.test(text))
        resolve('bubblewrap is not installed (apt-get install bubblewrap)');
      else resolve(text.trim().split('\n').at(-1) || error.message);
    });
  });
