import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { threadIdPattern } from '@harness/contracts';
import { ConfigError, loadConfig } from '@harness/runtime';
import { z } from 'zod';

const schema = z.object({
  HARNESS_URL: z
    .url({ protocol: /^https?$/, error: 'must be the http(s) address of a gateway' })
    .default('http://127.0.0.1:8080'),
  HARNESS_API_KEY: z.string().optional(),
  XDG_STATE_HOME: z.string().startsWith('/').optional().catch(undefined),
  TERM: z.string().optional(),
});

export const usage = `Usage: npm run chat -- [options]

  --message TEXT   sends one message (or command), prints the answer, and ends; the exit code tells success
  --thread ID      goes on with a thread
  --agent NAME     the agent that the thread works by
  --model NAME     the model of the thread
  --json           prints events as JSON Lines
  --help           prints this

Without --message it is a terminal; fed through a pipe, each line is a message or a command.
A line that begins with / is a command, see /help; begin it with // to send a message that begins with /.`;

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
  /** The terminal can move its cursor. */
  cursor: boolean;
}

type Env = Record<string, string | undefined>;

/** Throws ConfigError for what does not fit. */
export function loadChatConfig(env: Env = process.env, args: string[] = process.argv.slice(2)): ChatConfig {
  const { HARNESS_URL, HARNESS_API_KEY, XDG_STATE_HOME, TERM } = loadConfig(schema, env);
  const { thread, agent, model, message, json = false, help = false } = optionsOf(args);
  if (thread !== undefined && !new RegExp(threadIdPattern).test(thread))
    throw new ConfigError('--thread must be thr_ and 32 hex digits.');
  if (message !== undefined && message.trim() === '') throw new ConfigError('--message is empty.');
  return {
    url: HARNESS_URL.replace(/\/+$/, ''),
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

function optionsOf(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { thread: text, agent: text, model: text, message: text, json: flag, help: flag };
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}\n\n${usage}`);
  }
}
