import type { Command } from '@harness/plugin-kit';
import { builtIn } from './command-call.ts';

/** /quit and /exit: whoever shows the output knows what there is to leave. */
export const leaveCommands = (): Command[] =>
  [
    { name: 'quit', description: 'Leaves; the thread stays' },
    { name: 'exit', description: 'The same as /quit' },
  ].map((words) => builtIn({ ...words, execute: () => ({ output: 'Goodbye.', action: 'quit' }) }));
