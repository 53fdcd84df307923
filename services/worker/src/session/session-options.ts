import { spawn } from 'node:child_process';
import type { Options, SpawnedProcess, SpawnOptions } from '@anthropic-ai/claude-agent-sdk';
import { builtInTools } from '@harness/contracts';
import type { TranscriptStore } from '@harness/dispatch';
import { pdeathsig } from '@harness/runtime';
import { workspacePath } from '@harness/sandbox';
import { withBoundedLines } from '../sandbox/bounded-lines.ts';
import type { Enclosure } from '../sandbox/enclosure.ts';
import { createToolRelay, type FinishResult } from '../sandbox/proxies/tool-relay.ts';
import type { BuiltInCall } from '../sandbox/tool-rules.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import type { SessionHome } from './session-home.ts';
import { defaultSystemPrompt } from './system-prompt.ts';

/** What a session is started with; a change of any part needs another process. */
export interface SessionProfile {
  model: string | undefined;
  systemPrompt: string | undefined;
  /**
   * Qualified names of the tools that the session may use; undefined = all, [] = none (no MCP server at all).
   */
  tools: string[] | undefined;
  /** Whether it loads tools when it needs them, because there are many; only the gateway's core tools are loaded at once. */
  searches?: boolean | undefined;
  /** Built-in tools, also with a pattern (`Bash(git:*)`), for a session with a workspace in a sandbox; absent = it has neither. */
  builtInTools?: readonly string[] | undefined;
  /** Signature of the files of skills in its workspace: changed files need another session. */
  skillFiles?: string | undefined;
  /** JSON Schema of the model responses; absent = text. */
  outputSchema?: Readonly<Record<string, unknown>> | undefined;
}

/** What the SDK options of a session are made from. */
export interface SessionRequest {
  /** Answers questions of tools to a person. */
  onElicitation?: Options['onElicitation'];
  /** Why a call of a built-in tool is refused; undefined = it is not. */
  onBuiltInTool?: ((call: BuiltInCall) => Promise<string | undefined>) | undefined;
  /** Finishes results of tools, for a session in a sandbox. */
  finishResult?: FinishResult | undefined;
  profile: SessionProfile;
  home: SessionHome;
  /** The conversation: a new one, or one to resume from the store. */
  conversation: { sessionId: string } | { resume: string };
  mcp: McpEndpoint | undefined;
  /** The sandbox of a session with built-in tools. */
  enclosure?: Enclosure | undefined;
  /** Called when the session takes more than its sandbox allows; must end it. */
  onBreach?: ((reason: string) => void) | undefined;
  /** Environment variables for reaching the model; a session in a sandbox does not get them. */
  modelEnv: Record<string, string>;
  path: string;
  /** Replaces the SDK's executable; must speak its protocol. */
  executable?: string | undefined;
  /** The store of its transcript; undefined = not stored. */
  store?: TranscriptStore | undefined;
  onProcess(process: SessionProcess): void;
}

/** The subprocess of a session, in its own process group. */
export interface SessionProcess {
  pid: number;
  /** Kills the whole group; a no-op after its end. */
  kill(): void;
  /** Resolves when the process has ended. */
  exited: Promise<void>;
}

const workspaceHint = `You work in the folder ${workspacePath}. Its files are kept between turns; nothing else is, and there is no network.`;

/** Longest read of a transcript from the store, ms. */
const loadTimeoutMs = 10_000;

/** Limit of an MCP tool call, ms; the gateway's own limits are shorter. */
const toolCallTimeoutMs = 900_000;

/** The Agent SDK's tool that finds and loads tools. */
const searchTool = 'ToolSearch';

/** The SDK's `mcpServers` for a session. */
export const mcpServersOf = (
  mcp: McpEndpoint | undefined,
  { searches = false, builtInTools }: Pick<SessionProfile, 'searches' | 'builtInTools'>,
  finishResult?: FinishResult,
): NonNullable<Options['mcpServers']> => {
  if (!mcp) return {};
  const rest = { ...(!searches && { alwaysLoad: true }), timeout: toolCallTimeoutMs };
  if (builtInTools)
    return {
      harness: { type: 'sdk', name: 'harness', instance: createToolRelay(mcp, finishResult), ...rest },
    };
  const headers = { Authorization: `Bearer ${mcp.token}` };
  return { harness: { type: 'http', url: mcp.url, headers, ...rest } };
};

/**
 * The SDK options of a session. They isolate it: no settings or MCP servers of the machine, built-in tools in a
 * sandbox only, no expansion of `@file` or `/command` in user input, no network traffic but to the model and the
 * gateway.
 */
export function sessionOptionsOf(request: SessionRequest): Options {
  const { profile, home, enclosure } = request;
  const own = [...(profile.searches ? [searchTool] : []), ...(profile.builtInTools ?? [])];
  return {
    ...request.conversation,
    ...(profile.model === undefined ? {} : { model: profile.model }),
    systemPrompt: [profile.systemPrompt ?? defaultSystemPrompt, ...(enclosure ? [workspaceHint] : [])].join(
      '\n\n',
    ),
    ...(profile.outputSchema && { outputFormat: { type: 'json_schema', schema: profile.outputSchema } }),
    cwd: home.cwd,
    tools: [...new Set(own.map(withoutPattern))],
    settingSources: [],
    strictMcpConfig: true,
    verbatimPrompts: true,
    permissionMode: 'dontAsk',
    allowedTools: ['mcp__harness__*', ...own],
    mcpServers: mcpServersOf(request.mcp, profile, request.finishResult),
    mcpServersDelivery: 'initialize', // keeps the token off the command line
    includePartialMessages: true,
    // Eager: the agent process hands entries over about 100 ms after they were made. A killed worker loses these
    // at most, instead of the whole turn's.
    ...(request.store
      ? { sessionStore: request.store, sessionStoreFlush: 'eager' as const, loadTimeoutMs }
      : {}),
    ...(request.executable === undefined ? {} : { pathToClaudeCodeExecutable: request.executable }),
    ...(request.onBuiltInTool && profile.builtInTools && { hooks: hooksFor(request.onBuiltInTool) }),
    ...(request.onElicitation && { onElicitation: request.onElicitation }),
    settings: { autoMemoryEnabled: false },
    env: {
      PATH: request.path,
      ...(enclosure ? enclosure.env : request.modelEnv),
      ...home.env,
      // A fixed name: the default derives from the working directory, which differs between processes.
      CLAUDE_CODE_PROJECT_DIR_NAME: 'thread',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      ENABLE_TOOL_SEARCH: profile.searches ? 'true' : 'false',
      CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
      CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
      CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1',
      CLAUDE_CODE_TOTAL_TOKENS_REMINDER: 'off',
      CLAUDE_CODE_MAX_RETRIES: '3',
      API_TIMEOUT_MS: '120000',
      CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS: '60000',
      CLAUDE_AGENT_SDK_CLIENT_APP: 'harness/0.1',
    },
    spawnClaudeCodeProcess: (options) => {
      if (!enclosure)
        return spawnLeashed([...pdeathsig(), options.command, ...options.args], options, request.onProcess);
      const breach = (reason: string) => request.onBreach?.(reason);
      const child = spawnLeashed(enclosure.commandOf(options), options, (process) => {
        enclosure.started(process.pid, breach);
        request.onProcess(process);
      });
      return withBoundedLines(child, breach);
    },
  };
}

/** Hooks that ask `onBuiltInTool` before each call of a built-in tool. */
const hooksFor = (
  onCall: (call: BuiltInCall) => Promise<string | undefined>,
): NonNullable<Options['hooks']> => ({
  PreToolUse: [
    {
      matcher: builtInTools.join('|'),
      onFailure: 'block',
      hooks: [
        async (asked) => {
          if (asked.hook_event_name !== 'PreToolUse') return {};
          const reason = await onCall({ tool: asked.tool_name, input: asked.tool_input });
          if (reason === undefined) return {};
          const decision = { permissionDecision: 'deny' as const, permissionDecisionReason: reason };
          return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } };
        },
      ],
    },
  ],
});

/** `Bash` of `Bash(git:*)`. */
const withoutPattern = (tool: string) => tool.replace(/\(.*$/s, '');

/**
 * Starts the subprocess in its own process group. Where the platform supports it, the kernel kills it when
 * this worker dies; otherwise it would finish its turn.
 */
function spawnLeashed(
  [command = '', ...args]: readonly string[],
  options: SpawnOptions,
  onProcess: (process: SessionProcess) => void,
): SpawnedProcess {
  const child = spawn(command, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env,
    signal: options.signal,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stderr.resume(); // an unread pipe would fill up and block the subprocess
  const { pid } = child;
  if (pid === undefined) return child;
  let gone = false;
  const killGroup = () => {
    if (gone) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // No process of the group is left.
    }
  };
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      killGroup(); // kills its children, too
      gone = true; // the pid may be reused from now on
      resolve();
    });
  });
  onProcess({ pid, kill: killGroup, exited });
  return child;
}
