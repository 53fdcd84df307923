import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { compileCache } from '@harness/runtime';
import pty from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { onTestFinished } from 'vitest';

const main = fileURLToPath(new URL('../../client/src/chat/main.ts', import.meta.url));

export interface ChatOptions {
  url: string;
  args?: string[];
  env?: Record<string, string>;
}

const envOf = ({ url, env = {} }: ChatOptions): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  ...compileCache,
  HARNESS_URL: url,
  ...env,
});

export interface Terminal {
  /** Keys, as a terminal sends them. */
  type(keys: string): void;
  /** Resolves with the text of the terminal, down to the cursor's row, once it matches. Rejects with that text at the time limit. */
  until(fits: string | RegExp | ((shown: string) => boolean)): Promise<string>;
  resize(columns: number): void;
  /** All bytes so far. */
  raw(): string;
  exited: Promise<number>;
}

const limitMs = 20_000;
export const keys = {
  tab: '\t',
  enter: '\r',
  up: '\u001b[A',
  left: '\u001b[D',
  interrupt: '\u0003',
  end: '\u0004',
  /** What the terminal sends when a text is pasted. */
  paste: (text: string) => `\u001b[200~${text.replaceAll('\n', '\r')}\u001b[201~`,
};

/** `npm run chat` in a pseudo-terminal; a terminal emulator renders its output as a person sees it. */
export function openTerminal(options: ChatOptions & { columns?: number }): Terminal {
  const { columns: cols = 100, args = [] } = options;
  const screen = new xterm.Terminal({ cols, rows: 40, scrollback: 1_000, allowProposedApi: true });
  const child = pty.spawn(process.execPath, [main, ...args], {
    cols,
    rows: 40,
    name: options.env?.TERM ?? 'xterm-256color', // it becomes TERM
    env: envOf(options),
  });
  let raw = '';
  const waiting = new Set<() => void>();
  child.onData((data) => {
    raw += data;
    screen.write(data, () => {
      for (const look of waiting) look();
    });
  });
  const exited = new Promise<number>((resolve) => child.onExit(({ exitCode }) => resolve(exitCode)));
  onTestFinished(async () => {
    child.kill();
    await exited;
    screen.dispose();
  });
  return {
    type: (typed) => child.write(typed),
    resize(columns) {
      screen.resize(columns, 40);
      child.resize(columns, 40);
    },
    raw: () => raw,
    exited,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const shown = shownOn(screen);
          const found =
            typeof fits === 'function'
              ? fits(shown)
              : typeof fits === 'string'
                ? shown.includes(fits)
                : fits.test(shown);
          if (found) end(() => resolve(shown));
        };
        const late = setTimeout(
          () => end(() => reject(new Error(`Not shown: ${fits}\n${shownOn(screen)}`))),
          limitMs,
        );
        const end = (settle: () => void) => {
          clearTimeout(late);
          waiting.delete(look);
          settle();
        };
        waiting.add(look);
        look();
      }),
  };
}

/** The rows from the first to the cursor's, including scrolled ones; wrapped rows are joined to one line. */
function shownOn({ buffer }: InstanceType<typeof xterm.Terminal>): string {
  const { active } = buffer;
  let shown = '';
  for (let row = 0; row <= active.baseY + active.cursorY; row++) {
    const line = active.getLine(row);
    if (row > 0 && !line?.isWrapped) shown += '\n';
    shown += line?.translateToString(true) ?? '';
  }
  return shown;
}

/** `npm run chat` without a terminal; `input` is its whole stdin. SIGINT is sent once stdout has the given text. */
export async function runChat(options: ChatOptions & { input?: string; interruptAt?: string }) {
  const { interruptAt } = options;
  const child = spawn(process.execPath, [main, ...(options.args ?? [])], { env: envOf(options) });
  child.stdin.end(options.input ?? '');
  let output = '';
  child.stdout.on('data', (piece: Buffer) => {
    const before = output;
    output += piece.toString();
    if (interruptAt && output.includes(interruptAt) && !before.includes(interruptAt)) child.kill('SIGINT');
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, code };
}
