/**
 * MCP over the standard input and output of a child process. The SDK's own transport is not used, because it starts children
 * in the gateway's process group, with a second child to find out the era, and ends the connection for one large message.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { pdeathsig } from '@harness/runtime';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { StdioUpstream } from '../file/upstream-config.ts';
import type { Launch, UpstreamSandboxes } from '../sandbox/upstream-sandboxes.ts';
import type { ChildSlots } from './child-slots.ts';
import { createTurns, type LineBudget } from './line-budget.ts';
import { createMessageReader, type ReadLine } from './message-reader.ts';

/** What a child inherits; everything else must be written in `env`. */
const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'USER'];

/** Text of standard error that is kept for an error message, characters. */
const keptErrorChars = 2_000;
/** After the end of its input a child has this long to end by itself; after its own end, its output has this long to end, ms. */
const graceMs = 2_000;

/**
 * Ends the whole process group when the gateway is killed: the kernel signals this shell, and the shell signals all. It waits for
 * the server, so that its exit code is seen. A shell gives its background jobs no input, hence the detour of the input over 3.
 */
const guard = `trap 'kill -KILL 0' TERM; exec 3<&0; "$@" <&3 3<&- & exec 3<&-; wait $!`;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A transport that owns its child. */
export interface StdioTransport extends Transport {
  /** The end of what the child wrote to standard error; never sent to callers. */
  lastWords(): string;
  /** Process id of the group, while the child runs. */
  readonly pid: number | undefined;
}

/** What children need. */
export interface ChildDeps {
  /** The gateway's environment, of which a child inherits a few variables. */
  env: Readonly<Record<string, string | undefined>>;
  /** Places for children. Default: there is always one. */
  children?: Pick<ChildSlots, 'take'> | undefined;
  /** For upstreams that ask for a sandbox, which are not started without it. */
  sandboxes?: Pick<UpstreamSandboxes, 'launch'> | undefined;
}

/** Creates the transport of an upstream; `start` starts the child. */
export function createStdioTransport(
  upstream: StdioUpstream,
  deps: ChildDeps & { budget?: LineBudget | undefined },
): StdioTransport {
  let child: Child | undefined;
  let words = '';
  /** Responses that were asked for. */
  let owed = 0;
  let gone: Promise<void> = Promise.resolve();
  const transport: StdioTransport = {
    get pid() {
      return child?.pid;
    },
    lastWords: () => words.trim(),
    async start() {
      const free = (await deps.children?.take()) ?? (() => undefined);
      const launch = await launchOf(upstream, deps).catch((error) => {
        free();
        throw error;
      });
      const giveBack = () => {
        launch.release();
        free();
      };
      const started = startChild(launch);
      child = started;
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        words = (words + text).slice(-keptErrorChars);
      });
      const fail = (error: Error) => transport.onerror?.(error);
      // Lines that are no messages are told with the reason of a failure, and do not fail the connection themselves.
      const note = ({ message }: Error) => {
        if (!words.endsWith(message)) words = `${words}\n${message}`.slice(-keptErrorChars);
      };
      const reading = readMessages(started.stdout, {
        read: createMessageReader(note),
        onMessage: (message) => transport.onmessage?.(message),
        spend: ({ message, bytes }) => {
          const isAsked = message && 'id' in message && !('method' in message) && owed > 0;
          if (isAsked) owed -= 1;
          if (deps.budget?.spend(1, isAsked ? 0 : bytes) === false) throw deps.budget.exceeded;
        },
        idle: () => deps.budget?.idle(),
      }).catch((error: Error) => {
        note(error);
        killGroup(started);
      });
      started.stdin.on('error', fail); // a child that has closed its input
      const closed = new Promise((resolve) => started.once('close', resolve));
      // What it wrote last may not be read yet.
      gone = Promise.all([closed, reading]).then(() => undefined);
      started.once('exit', () => {
        // What the server has left behind in its group ends with it.
        killGroup(started);
        // A process that has left the group may hold the output open, which would look like a server that is silent.
        const timer = setTimeout(() => {
          started.stdout.destroy();
          started.stderr.destroy();
        }, graceMs);
        void closed.then(() => clearTimeout(timer));
      });
      void gone.then(() => {
        giveBack();
        child = undefined;
        transport.onclose?.();
      });
      await new Promise<void>((resolve, reject) => {
        started.once('spawn', resolve);
        started.once('error', reject);
      }).catch((error) => {
        giveBack();
        throw error;
      });
    },
    async send(message) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if ('method' in message && 'id' in message) owed += 1;
      const ended = () => reject(new Error('the process has ended'));
      if (!child?.stdin.writable) ended();
      else child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? ended() : resolve()));
      await promise;
    },
    async close() {
      const closing = child;
      if (!closing) return;
      closing.stdin.end();
      const timer = setTimeout(() => killGroup(closing), graceMs);
      await gone;
      clearTimeout(timer);
    },
  };
  return transport;
}

/**
 * Reads until the end of the output, in turns with everything else that this process does; meanwhile the pipe holds the child back.
 * Rejects when it floods.
 */
async function readMessages(
  stdout: Readable,
  {
    read,
    onMessage,
    spend,
    idle,
  }: {
    read: ReturnType<typeof createMessageReader>;
    onMessage(message: JSONRPCMessage): void;
    /** Throws when it floods. */
    spend(line: ReadLine): void;
    idle(): void;
  },
): Promise<void> {
  const turnEnds = createTurns();
  for await (const chunk of stdout) {
    for (const line of read(chunk as Buffer)) {
      spend(line);
      if (line.message) onMessage(line.message);
      // Also one at a time: the SDK would drop the last progress of a request whose response comes in the same chunk.
      await turnEnds();
    }
    if (stdout.readableLength === 0) idle();
  }
}

async function launchOf(upstream: StdioUpstream, { env, sandboxes }: ChildDeps): Promise<Launch> {
  if (upstream.sandbox) {
    if (!sandboxes) throw new Error('it asks for a sandbox, and there is none here');
    return sandboxes.launch(upstream);
  }
  const base = Object.fromEntries(
    inherited.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return {
    command: [upstream.command, ...upstream.args],
    env: { ...base, ...upstream.env },
    cwd: upstream.cwd,
    release: () => undefined,
  };
}

function startChild({ command: own, env, cwd }: Launch): Child {
  const [command = '', ...args] = [...pdeathsig('TERM'), '/bin/sh', '-c', guard, 'sh', ...own];
  return spawn(command, args, {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // a process group of its own
  });
}

/** Kills the child and everything in its process group. */
function killGroup({ pid }: Child): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}
