import type { RouteDeps } from '../app-deps.ts';

/** What commands are made of. */
export type CommandDeps = Pick<
  RouteDeps,
  'dispatch' | 'plugins' | 'skills' | 'skillCommands' | 'agents' | 'tools' | 'logger'
>;
