import type { Command } from '@harness/plugin-kit';
import { builtIn } from './command-call.ts';

/** /tools */
export const toolsCommand = (): Command =>
  builtIn({
    name: 'tools',
    description: 'Lists the tools that you see',
    execute: (_args, { toolNames }) =>
      toolNames.length === 0
        ? 'There are no tools.'
        : `Tools:\n${toolNames.map((name) => `  ${name}`).join('\n')}`,
  });
