import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { compileCache } from '@harness/runtime';

const mains = {
  gateway: '../../gateway/src/main.ts',
  worker: '../../worker/src/main.ts',
  migrate: '../src/migrate.ts',
};

/**
 * Starts a real process of the project that ends without a signal, or refuses to start, and waits for its end. `code`
 * is null when it had to be killed after 20 s.
 */
export async function endOf(
  name: keyof typeof mains,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(mains[name], import.meta.url)), ...args], {
    env: { ...compileCache, PATH: process.env.PATH ?? '', PORT: '0', LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code: code as number | null, stdout, stderr };
}
