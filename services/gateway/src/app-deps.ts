import type { WorkspaceMode } from '@harness/contracts';
import type { Dispatch, TokenSecrets, WriteProbe } from '@harness/dispatch';
import type { PluginHost, ToolLocking } from '@harness/plugin-kit';
import type { AgentSet, SkillSet, StartedPlugins } from '@harness/plugins';
import type { Logger, Scrubber, Tracing } from '@harness/runtime';
import type { RouteOptions } from 'fastify';
import type { Registry } from 'prom-client';
import type { AuditOutput } from './audit/audit.ts';
import type { RecordChange } from './audit/audit-requests.ts';
import type { Commands } from './commands/command-call.ts';
import type { FolderChecking, PublishedFolders } from './content/published-folders.ts';
import type { Collecting } from './files/collect-files.ts';
import type { FileSettings, ThreadFiles } from './files/thread-files.ts';
import type { Caller } from './http/credentials/authenticate.ts';
import type { StreamTickets } from './http/credentials/stream-tickets.ts';
import type { ApiKey } from './keys/api-keys.ts';
import type { FollowedKeys } from './keys/issued-keys.ts';
import type { KeyFile } from './keys/key-file.ts';
import type { Slots } from './limits/slots.ts';
import type { TenantLimits } from './limits/tenant-limits.ts';
import type { OAuthSettings } from './oauth/settings.ts';
import type { EventStreams } from './rest/threads/event-stream.ts';
import type { ToolSearchMode } from './tools/search/with-tool-search.ts';
import type { ToolCalls } from './tools/tool-calls.ts';
import type { Upstreams } from './upstreams/follow-upstreams.ts';
import type { UpstreamsDeps } from './upstreams/upstream-entries.ts';

/** What `createApp` needs. */
export interface AppDeps {
  dispatch: Dispatch;
  plugins: PluginHost & Partial<Pick<StartedPlugins, 'processOf' | 'importTools'>>;
  logger: Logger;
  /** Default: traces are off. */
  tracing?: Tracing | undefined;
  /** Replaces secrets in errors and in what is logged about them. */
  scrubber: Scrubber;
  /** Where audit records are written, besides Redis. Default: nowhere. */
  auditOutputs?: readonly AuditOutput[] | undefined;
  keys: readonly ApiKey[];
  /** Keys that may change while the gateway runs. */
  keyFile?: KeyFile | undefined;
  /** Set if an authorization server is configured: its access tokens are accepted besides keys. */
  oauth?: OAuthSettings | undefined;
  /** Limits of tenants and keys. Default: the built-in ones. */
  limits?: TenantLimits | undefined;
  /** Proxies whose `X-Forwarded-For` is believed. Default: none. */
  trustedProxies?: readonly string[] | undefined;
  /** Refused credentials per second from one address, beyond which the answer is 429. Default: 20. */
  failuresPerSecond?: number | undefined;
  /** The only tenants that are given a plugin; undefined = all. */
  tenantsOf?: ((pluginName: string) => readonly string[] | undefined) | undefined;
  /** The same at every gateway and worker. */
  tokenSecrets: TokenSecrets;
  /** The tool lock, as `plugins` were started with it; undefined = none. */
  toolLock?: ToolLocking | undefined;
  /** The built files of the console. Default: those of services/console. */
  consoleFolder?: string | undefined;
  allowedHosts: readonly string[];
  allowedOrigins: readonly string[];
  /** Folder of skills; undefined = no skills. */
  skillsDirectory?: string | undefined;
  /**
   * Which skills are slash commands. `marked` (default): `user-invocable: true`; `all`: also those without
   * the field.
   */
  skillCommands?: 'marked' | 'all' | undefined;
  /** Whether code in a skill's folder is loaded. */
  skillsCode?: boolean | undefined;
  /** How long a call of a forked skill waits for its result, ms. Default: one minute. */
  forkWaitMs?: number | undefined;
  /** Folder of agents; undefined = no agents. */
  agentsDirectory?: string | undefined;
  /** How often the folders of other gateways are compared with those of this one. */
  folderChecking?: FolderChecking | undefined;
  /** Which sessions search for tools. Default: `auto`. */
  toolSearch?: ToolSearchMode | undefined;
  /** Other people's MCP servers. Default: none. */
  upstreams?: Pick<UpstreamsDeps, 'file' | 'env' | 'unprefixed' | 'maxChildren'> | undefined;
  /** Which threads have workspaces. Default: none. */
  workspaces?: WorkspaceMode | undefined;
  /** Where files of threads are; undefined = threads have no workspaces. */
  files?: (FileSettings & { collecting?: Collecting | undefined }) | undefined;
  /** Longest wait of `runs/wait`, ms. */
  waitLimitMs: number;
  /** Aborted when shutdown begins: requests are still served, but /readyz fails. */
  shutdown?: AbortSignal | undefined;
  /** Registry for the gateway's metrics; it may already hold those of the process. Default: a new one. */
  registry?: Registry | undefined;
  /** Called for every route when it is registered; tests list the endpoints with it. */
  onRoute?: (route: RouteOptions) => void;
}

/** Slots for calls, streams and subscriptions in progress at this gateway. */
export interface GatewaySlots {
  calls: Slots;
  streams: Slots;
  subscriptions: Slots;
}

/** What the routes need: the app's dependencies and what `createApp` makes from them. */
export interface RouteDeps extends Omit<AppDeps, 'upstreams' | 'files'> {
  threadFiles: ThreadFiles;
  upstreams: Upstreams;
  tools: ToolCalls;
  skills: SkillSet;
  commands: Commands;
  agents: AgentSet;
  folders: PublishedFolders;
  streams: EventStreams;
  limits: TenantLimits;
  slots: GatewaySlots;
  /** The keys that the API has made. */
  issuedKeys: FollowedKeys;
  streamTickets: StreamTickets;
  /** Records a change for the audit. */
  recordChange: RecordChange;
  /** Whether Redis takes writes. */
  writes: WriteProbe;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route but the public ones. */
    caller: Caller;
  }
}
