import type { RouteDeps } from '../app-deps.ts';

/** What the built-in and skill commands need. */
export type CommandDeps = Pick<
  RouteDeps,
  | 'workspaces'
  | 'dispatch'
  | 'plugins'
  | 'skills'
  | 'skillCommands'
  | 'agents'
  | 'tools'
  | 'logger'
  | 'scrubber'
>;
