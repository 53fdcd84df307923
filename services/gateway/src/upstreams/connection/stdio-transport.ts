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

/** What a child inherits; everything else must be written in `env`. */
const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'USER'];

/** Largest message of a child, bytes. */
const maxMessageBytes = 16 * 1024 * 1024;
/** How much of the beginning and the end of a larger message is kept, to find the id that it answers. */
const keptBytes = 4_096;
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
export function createStdioTransport(upstream: StdioUpstream, deps: ChildDeps): StdioTransport {
  let child: Child | undefined;
  let words = '';
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
      // One at a time: the SDK would drop the last progress of a request whose response comes in the same chunk.
      let read = Promise.resolve();
      const reader = createMessageReader((message) => {
        read = read.then(() => transport.onmessage?.(message));
      }, note);
      started.stdout.on('data', reader.push);
      started.stdin.on('error', fail); // a child that has closed its input
      gone = new Promise((resolve) => started.once('close', () => resolve()));
      started.once('exit', () => {
        // What the server has left behind in its group ends with it.
        killGroup(started);
        // A process that has left the group may hold the output open, which would look like a server that is silent.
        const timer = setTimeout(() => {
          started.stdout.destroy();
          started.stderr.destroy();
        }, graceMs);
        void gone.then(() => clearTimeout(timer));
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
      if (!child?.stdin.writable) throw new Error('the process has ended');
      if (child.stdin.write(`${JSON.stringify(message)}\n`)) return;
      const { stdin } = child;
      await new Promise<void>((resolve, reject) => {
        const settle = (error?: Error) => {
          stdin.off('drain', settle).off('close', onClose);
          if (error) reject(error);
          else resolve();
        };
        const onClose = () => settle(new Error('the process has ended'));
        stdin.once('drain', settle).once('close', onClose);
      });
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

/**
 * Reads messages, one a line. A line that is too long is dropped while it arrives; if it was a response, its request gets an
 * error instead.
 */
export function createMessageReader(
  onMessage: (message: JSONRPCMessage) => void,
  onError: (error: Error) => void,
): { push(chunk: Buffer): void } {
  let parts: Buffer[] = [];
  let bytes = 0;
  /** Set while a line that is too long is dropped. */
  let dropped: { head: string; tail: Buffer } | undefined;
  const take = (piece: Buffer) => {
    bytes += piece.length;
    if (dropped) dropped.tail = Buffer.concat([dropped.tail, piece]).subarray(-keptBytes);
    else if (bytes <= maxMessageBytes) parts.push(piece);
    else {
      const head = Buffer.concat([...parts, piece]);
      dropped = { head: head.toString('utf8', 0, keptBytes), tail: head.subarray(-keptBytes) };
      parts = [];
    }
  };
  const end = () => {
    const line = dropped ? undefined : Buffer.concat(parts).toString('utf8').trim();
    const [{ head, tail } = { head: '', tail: Buffer.alloc(0) }, size] = [dropped, bytes];
    [parts, bytes, dropped] = [[], 0, undefined];
    if (line === undefined) {
      const id = idIn(head) ?? idIn(tail.toString('utf8'));
      onError(new Error(`a message of ${size} bytes was dropped; at most ${maxMessageBytes} are read`));
      if (id !== undefined) onMessage(tooLarge(id, size));
    } else if (line !== '') {
      try {
        onMessage(JSON.parse(line));
      } catch {
        onError(new Error('it writes lines that are no JSON to its standard output'));
      }
    }
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        take(chunk.subarray(from, at));
        end();
        from = at + 1;
      }
      if (from < chunk.length) take(chunk.subarray(from));
    },
  };
}

/** The id of a response, at one end of its JSON: our ids are numbers. */
const idIn = (text: string): number | undefined => {
  const found =
    /^\{(?:"jsonrpc":"2.0",)?"id":(\d+)[,}]/.exec(text) ?? /"id":(\d+)(?:,"jsonrpc":"2.0")?\}\s*$/.exec(text);
  return found ? Number(found[1]) : undefined;
};

const tooLarge = (id: number, bytes: number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: -32603,
    message: `The response has ${bytes} bytes; at most ${maxMessageBytes} are read. Ask for less.`,
  },
});
