import { execFile } from 'node:child_process';
import { type Box, enclose, type SandboxLevel } from './bubblewrap.ts';

/** What this machine can enclose sessions with; or the reason why it cannot. */
export type Probed = { level: SandboxLevel } | { level: 'none'; reason: string };

const levels: readonly SandboxLevel[] = ['bubblewrap', 'bubblewrap-bound-proc'];
const timeoutMs = 10_000;

/** Runs a program in a sandbox of each level, the stricter first, until one succeeds. */
export async function probeSandbox(
  box: Box,
  { path, wanted }: { path: string; wanted: SandboxLevel | 'auto' },
): Promise<Probed> {
  if (process.platform !== 'linux')
    return { level: 'none', reason: `bubblewrap needs Linux; this is ${process.platform}` };
  let reason = '';
  for (const level of wanted === 'auto' ? levels : [wanted]) {
    const failure = await failureOf(enclose(level, box, ['true']), path);
    if (failure === undefined) return { level };
    reason ||= failure;
  }
  return { level: 'none', reason };
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
