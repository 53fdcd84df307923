import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { engineEnv } from './config.ts';

/** docker-compose.yml, with workspaces, as a separate project, beside others on the engine. */
export interface ComposeProject {
  /** Runs a compose command. Resolves with both outputs, and throws with them when it fails. */
  compose(...args: string[]): Promise<string>;
  /** The same without a variable that the file needs. */
  composeWithout(variable: string, ...args: string[]): Promise<string>;
  docker(...args: string[]): Promise<string>;
  /** Ids of the running containers of these services. */
  containersOf(...services: string[]): Promise<string[]>;
  /** The result of a container's health check. */
  healthOf(container: string): Promise<string>;
  /** Everything that the engine has of this project: containers, volumes, networks. */
  leftovers(): Promise<string[]>;
  /** Removes containers, volumes, networks and images. */
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** Longest command, ms: a first build downloads half a gigabyte. */
const commandLimitMs = 900_000;

async function run(command: readonly string[], env: Record<string, string>): Promise<string> {
  const [file, ...args] = command;
  const limits = { timeout: commandLimitMs, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) =>
    execFile(file as string, args, { cwd: root, env, ...limits }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command.join(' ')}: ${error.message}\n${stdout}${stderr}`));
      else resolve(stdout + stderr);
    }),
  );
}

/** The compose command of this machine, or why there is none. */
export async function findCompose(): Promise<{ command: string[] } | { missing: string }> {
  const env = engineEnv();
  const works = (...command: string[]) =>
    run(command, env).then(
      () => true,
      () => false,
    );
  if (!(await works('docker', 'info'))) return { missing: 'no Docker engine answers' };
  for (const command of [['docker', 'compose'], ['docker-compose']]) {
    if (await works(...command, 'version')) return { command };
  }
  return { missing: 'neither `docker compose` nor `docker-compose` is installed' };
}

export function openProject(command: string[], env: Record<string, string>): ComposeProject {
  const name = `harness-test-${process.pid}`;
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  // Instead of the checkout's .env, which belongs to the user.
  const envFile = join(dir, 'env');
  writeFileSync(envFile, '');
  const files = ['docker-compose.yml', 'services/worker/workspaces.yml'].flatMap((file) => ['--file', file]);
  const prefix = [...command, ...files, '--project-name', name, '--env-file', envFile];
  const all = { ...engineEnv(), ...env };
  const compose = (...args: string[]) => run([...prefix, ...args], all);
  const docker = (...args: string[]) => run(['docker', ...args], all);
  const linesOf = (text: string) => text.split('\n').filter(Boolean);
  const label = `label=com.docker.compose.project=${name}`;
  return {
    compose,
    composeWithout: (variable, ...args) =>
      run([...prefix, ...args], Object.fromEntries(Object.entries(all).filter(([key]) => key !== variable))),
    docker,
    async containersOf(...services) {
      const found = services.map((service) => {
        const ofService = ['--filter', label, '--filter', `label=com.docker.compose.service=${service}`];
        return docker('ps', '--quiet', ...ofService);
      });
      return (await Promise.all(found)).flatMap(linesOf);
    },
    healthOf: async (container) =>
      (await docker('inspect', '--format', '{{.State.Health.Status}}', container)).trim(),
    async leftovers() {
      const found = await Promise.all([
        docker('ps', '--all', '--quiet', '--filter', label),
        docker('volume', 'ls', '--quiet', '--filter', label),
        docker('network', 'ls', '--quiet', '--filter', label),
      ]);
      return found.flatMap(linesOf);
    },
    async remove() {
      await compose('down', '--volumes', '--rmi', 'local', '--timeout', '5');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
