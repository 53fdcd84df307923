import type { Command } from '@harness/plugin-kit';
import { builtIn } from './command-call.ts';

/** /quit and /exit: the client performs the `quit` action. */
export const quitCommands = (): Command[] =>
  [
    { name: 'quit', description: 'Quits the client; the thread stays' },
    { name: 'exit', description: 'The same as /quit' },
  ].map((words) => builtIn({ ...words, execute: () => ({ output: 'Goodbye.', action: 'quit' }) }));
