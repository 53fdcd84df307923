/** Runs the official suites and reads their verdict. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';

const { resolve } = createRequire(import.meta.url);
const cliOf = (name: string) => resolve(`${name}/package.json`).replace('package.json', 'dist/index.js');
/** The command lines of the two versions. */
export const current = cliOf('@modelcontextprotocol/conformance');
export const next = cliOf('mcp-conformance-next');

/** What a suite says of a server. */
export interface Verdict {
  code: number;
  /** Scenarios with a failed check, scored or not. */
  failed: string[];
  held: string[];
  checks: number;
  /** Of each scenario, its checks: `"ping": "2 passed, 0 failed"`. */
  scores: Record<string, string>;
}

/** Runs a suite against a server. */
export async function judge(cli: string, url: string, ...options: string[]): Promise<Verdict> {
  const child = spawn(process.execPath, [cli, 'server', '--url', url, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  const scenarios = (mark: string) =>
    [...output.matchAll(new RegExp(`^${mark} ([\\w-]+): \\d+ passed`, 'gm'))].map(
      ([, name]) => name as string,
    );
  const checks = Number(output.match(/^Total: (\d+) passed/m)?.[1]);
  const scores = Object.fromEntries(
    [...output.matchAll(/^[✓✗] ([\w-]+): (\d+ passed, \d+ failed)/gm)].map(([, name, score]) => [
      name,
      score,
    ]),
  );
  return { code: Number(code), failed: scenarios('✗'), held: scenarios('✓'), checks, scores };
}
