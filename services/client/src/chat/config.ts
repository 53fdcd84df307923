/** The configuration of the terminal: environment and options. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { threadIdPattern } from '@harness/contracts';
import { ConfigError, loadConfig, parseOptions } from '@harness/runtime';
import { z } from 'zod';
import { gatewayVariables } from '../gateway-variables.ts';

const schema = z.object({
  ...gatewayVariables,
  XDG_STATE_HOME: z.string().startsWith('/').optional().catch(undefined),
  TERM: z.string().optional(),
});

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const options = { thread: text, agent: text, model: text, message: text, json: flag, help: flag };

/** The text of --help. */
export const usage = `Usage: npm run chat -- [options]

  --message TEXT   sends one message (or command), prints the result, and exits; exit code 0 means success
  --thread ID      continues a thread
  --agent NAME     the agent profile of the thread
  --model NAME     the model of the thread
  --json           prints events as JSON Lines
  --help           prints this

Without --message it opens a terminal. With piped input, each line is a message or a command.
A line that begins with / is a command, see /help. To send a message that begins with /, begin it with //.`;

/** The parsed configuration. */
export interface ChatConfig {
  url: string;
  apiKey: string | undefined;
  threadId: string | undefined;
  agent: string | undefined;
  model: string | undefined;
  message: string | undefined;
  json: boolean;
  help: boolean;
  historyFile: string;
  /** Whether the terminal can move its cursor. */
  cursor: boolean;
}

type Env = Record<string, string | undefined>;

/** Throws ConfigError for an invalid value. */
export function loadChatConfig(env: Env = process.env, args: string[] = process.argv.slice(2)): ChatConfig {
  const { HARNESS_URL, HARNESS_API_KEY, XDG_STATE_HOME, TERM } = loadConfig(schema, env);
  const { thread, agent, model, message, json = false, help = false } = parseOptions(args, options, usage);
  if (thread !== undefined && !new RegExp(threadIdPattern).test(thread))
    throw new ConfigError('--thread must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -');
  if (message !== undefined && message.trim() === '')
    throw new ConfigError('--message is empty: give it a text.');
  return {
    url: HARNESS_URL,
    apiKey: HARNESS_API_KEY,
    threadId: thread,
    agent,
    model,
    message,
    json,
    help,
    historyFile: join(XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'harness', 'chat-history'),
    cursor: TERM !== 'dumb',
  };
}
