import { spawn } from 'node:child_process';
import type { Options, SpawnedProcess, SpawnOptions } from '@anthropic-ai/claude-agent-sdk';
import type { TranscriptStore } from '@harness/dispatch';
import { pdeathsig } from '@harness/runtime';
import type { SessionHome } from './session-home.ts';
import { defaultSystemPrompt } from './system-prompt.ts';

/** What a session is made for; a change of any part needs another process. */
export interface SessionProfile {
  model: string | undefined;
  systemPrompt: string | undefined;
  /** Qualified tool names the session may use; undefined = all, [] = none (no MCP server at all). */
  tools: string[] | undefined;
  /** JSON Schema that its answers are held to; absent = they are text. */
  outputSchema?: Readonly<Record<string, unknown>> | undefined;
}

export interface McpEndpoint {
  url: string;
  token: string;
}

export interface SessionRequest {
  profile: SessionProfile;
  home: SessionHome;
  /** Names the conversation: `resume` continues one that this home knows. */
  conversation: { sessionId: string } | { resume: string };
  mcp: McpEndpoint | undefined;
  /** How to reach the model. */
  modelEnv: Record<string, string>;
  path: string;
  /** Another executable that speaks the SDK's protocol. */
  executable?: string | undefined;
  /** Where its transcript goes. */
  store?: TranscriptStore | undefined;
  onProcess(process: SessionProcess): void;
}

/** The subprocess of a session, in a process group of its own. */
export interface SessionProcess {
  pid: number;
  /** Kills the whole group at once; nothing once it has ended. */
  kill(): void;
  /** Resolves when the process is gone. */
  exited: Promise<void>;
}

/** Longest wait for a transcript to be read from the store, ms. */
const loadTimeoutMs = 10_000;

/** MCP tool calls may run this long, ms; the gateway's own limit per tool is shorter. */
const toolCallTimeoutMs = 900_000;

export const mcpServersOf = (mcp: McpEndpoint | undefined): NonNullable<Options['mcpServers']> =>
  mcp
    ? {
        harness: {
          type: 'http',
          url: mcp.url,
          headers: { Authorization: `Bearer ${mcp.token}` },
          alwaysLoad: true,
          timeout: toolCallTimeoutMs,
        },
      }
    : {};

/**
 * Options that close every door but ours: no settings or servers of the machine, no built-in tools, no expansion of
 * `@file` or `/command` in what users write, no traffic but to the model.
 */
export function sessionOptionsOf(request: SessionRequest): Options {
  const { profile, home } = request;
  return {
    ...request.conversation,
    ...(profile.model === undefined ? {} : { model: profile.model }),
    systemPrompt: profile.systemPrompt ?? defaultSystemPrompt,
    ...(profile.outputSchema && { outputFormat: { type: 'json_schema', schema: profile.outputSchema } }),
    cwd: home.cwd,
    tools: [],
    settingSources: [],
    strictMcpConfig: true,
    verbatimPrompts: true,
    permissionMode: 'dontAsk',
    allowedTools: ['mcp__harness__*'],
    mcpServers: mcpServersOf(request.mcp),
    mcpServersDelivery: 'initialize', // keeps the token off the command line
    includePartialMessages: true,
    // Eager: an entry is in the store before the next one is made, so a killed worker loses none that was answered.
    ...(request.store
      ? { sessionStore: request.store, sessionStoreFlush: 'eager' as const, loadTimeoutMs }
      : {}),
    ...(request.executable === undefined ? {} : { pathToClaudeCodeExecutable: request.executable }),
    settings: { autoMemoryEnabled: false },
    env: {
      PATH: request.path,
      ...request.modelEnv,
      ...home.env,
      // A name of our own: the default is made from the working directory, which differs from process to process.
      CLAUDE_CODE_PROJECT_DIR_NAME: 'thread',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      ENABLE_TOOL_SEARCH: 'false',
      CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
      CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
      CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1',
      CLAUDE_CODE_TOTAL_TOKENS_REMINDER: 'off',
      CLAUDE_CODE_MAX_RETRIES: '3',
      API_TIMEOUT_MS: '120000',
      CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS: '60000',
      CLAUDE_AGENT_SDK_CLIENT_APP: 'harness/0.1',
    },
    spawnClaudeCodeProcess: (options) => spawnLeashed(options, request.onProcess),
  };
}

/** Where the platform can, the kernel kills the subprocess when this worker dies: alone it would finish its turn. */
function spawnLeashed(options: SpawnOptions, onProcess: (process: SessionProcess) => void): SpawnedProcess {
  const [command, ...args] = [...pdeathsig(), options.command, ...options.args];
  const child = spawn(command as string, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env,
    signal: options.signal,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stderr.resume(); // unread, it would fill up and block the subprocess
  const { pid } = child;
  if (pid === undefined) return child;
  let gone = false;
  const killGroup = () => {
    if (gone) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // No process of the group is left: what was wanted.
    }
  };
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      killGroup(); // what it started dies with it
      gone = true; // the number may be given to another process from now on
      resolve();
    });
  });
  onProcess({ pid, kill: killGroup, exited });
  return child;
}
