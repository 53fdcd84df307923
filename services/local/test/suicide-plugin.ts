import { execFileSync } from 'node:child_process';
import type { PluginDefinition } from '@harness/plugin-kit';

/** A tool that kills the agent process that calls it, once: the crash happens between a tool call and its result. */
let killed = false;

export const plugin: PluginDefinition = {
  name: 'suicide',
  version: '1.0.0',
  tools: [
    {
      name: 'kill_agents',
      description: 'Kills the agent process of the calling thread',
      schema: {},
      handler(_ctx, _input, { threadId }) {
        if (killed) return 'spared';
        killed = true;
        for (const pid of agentsOf(threadId)) process.kill(pid, 'SIGKILL');
        return 'killed';
      },
    },
  ],
  register: () => ({}),
};

/** Processes whose working directory is in the thread's folder. */
function agentsOf(threadId: string): number[] {
  const listed = execFileSync(
    'sh',
    ['-c', `ls -l /proc/[0-9]*/cwd 2>/dev/null | grep '/${threadId}[^/]*/work' || true`],
    { encoding: 'utf8' },
  );
  return [...listed.matchAll(/\/proc\/(\d+)\/cwd/g)].map(([, pid]) => Number(pid));
}
