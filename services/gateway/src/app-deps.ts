import type { Dispatch, WriteProbe } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { AgentSet, SkillSet, StartedPlugins } from '@harness/plugins';
import type { Logger } from '@harness/runtime';
import type { RouteOptions } from 'fastify';
import type { Registry } from 'prom-client';
import type { Commands } from './commands/command-call.ts';
import type { FolderChecking, PublishedFolders } from './content/published-folders.ts';
import type { ApiKey, Caller } from './http/authenticate.ts';
import type { OAuthSettings } from './oauth/settings.ts';
import type { EventStreams } from './rest/threads/event-stream.ts';
import type { ToolCalls } from './tools/tool-calls.ts';

/** What the app is made of. */
export interface AppDeps {
  dispatch: Dispatch;
  plugins: PluginHost & Partial<Pick<StartedPlugins, 'processOf' | 'importTools'>>;
  logger: Logger;
  keys: readonly ApiKey[];
  /** Where an authorization server is configured: its access tokens are accepted beside keys. */
  oauth?: OAuthSettings | undefined;
  tokenSecret: string;
  allowedHosts: readonly string[];
  allowedOrigins: readonly string[];
  /** Folder of skills; undefined = there are none. */
  skillsDirectory?: string | undefined;
  /** Which skills are slash commands: those that say so (the default), or all but those that say they are none. */
  skillCommands?: 'marked' | 'all' | undefined;
  /** Whether code beside a skill is loaded. */
  skillsCode?: boolean | undefined;
  /** How long a call of a forked skill waits for its result, ms; a minute unless given. */
  forkWaitMs?: number | undefined;
  /** Folder of agents; undefined = there are none. */
  agentsDirectory?: string | undefined;
  /** When other gateways' folders are compared with those of this one; see its defaults. */
  folderChecking?: FolderChecking | undefined;
  /** Longest wait of `runs/wait`, ms. */
  waitLimitMs: number;
  /** Aborted when the gateway is about to leave: it answers as ever, but is not ready. */
  leaving?: AbortSignal | undefined;
  /** Where the gateway's metrics go; those of the process may be there already. A new one unless given. */
  registry?: Registry | undefined;
  /** Told of every route as it is registered, for an inventory of the doors. */
  onRoute?: (route: RouteOptions) => void;
}

/** What routes share besides. */
export interface RouteDeps extends AppDeps {
  tools: ToolCalls;
  skills: SkillSet;
  commands: Commands;
  agents: AgentSet;
  folders: PublishedFolders;
  streams: EventStreams;
  /** Whether Redis takes writes. */
  writes: WriteProbe;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route but the public ones. */
    caller: Caller;
  }
}
