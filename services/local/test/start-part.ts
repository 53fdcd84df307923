import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/**
 * Starts the real gateway or worker and waits for its end: for those that refuse. `code` is null when it had to be
 * killed after 20 s, because it did not refuse.
 */
export async function endOf(
  service: 'gateway' | 'worker',
  env: Record<string, string>,
): Promise<{ code: number | null; stderr: string }> {
  const main = fileURLToPath(new URL(`../../${service}/src/main.ts`, import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH ?? '', PORT: '0', LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code: code as number | null, stderr };
}
