import type { Command } from '@harness/plugin-kit';
import { builtIn } from './command-call.ts';

/** /tools: lists the tools that the caller may use. */
export const toolsCommand = (): Command =>
  builtIn({
    name: 'tools',
    description: 'Lists the tools that you may use',
    execute: (_args, { toolNames }) =>
      toolNames.length === 0
        ? 'There are no tools.'
        : `Tools:\n${toolNames.map((name) => `  ${name}`).join('\n')}`,
  });
