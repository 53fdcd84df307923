import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import xterm from '@xterm/headless';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createScreen } from './screen.ts';

const columns = 12;

/** Keys are sent to node:readline, and a terminal emulator shows its output. */
function openScreen() {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows: 30,
    scrollback: 1_000,
    convertEol: true, // as a terminal in raw mode does
    allowProposedApi: true,
  });
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { columns, isTTY: true });
  output.on('data', (bytes: Buffer) => terminal.write(bytes));
  const rl = createInterface({ input, output, prompt: '> ', terminal: true });
  const screen = createScreen(rl, {
    input: input as unknown as ReadStream,
    output: output as unknown as WriteStream,
  });
  const shown = async () => {
    await new Promise<void>((resolve) => terminal.write('', resolve));
    const { active } = terminal.buffer;
    const rows = Array.from({ length: active.length }, (_, row) =>
      active.getLine(row)?.translateToString(true),
    );
    return {
      rows: rows.join('\n').trimEnd().split('\n'),
      row: active.baseY + active.cursorY,
      column: active.cursorX,
    };
  };
  return {
    screen,
    shown,
    rl,
    /** Resolves when node:readline has read the keys. */
    async type(keys: string) {
      input.write(keys);
      while (input.readableLength > 0) await setImmediate();
    },
    close: () => rl.close(),
  };
}

test('text continues where it ended, above the typed line', async () => {
  const { screen, shown, type, close } = openScreen();
  screen.lines('hello');
  screen.openPrompt();
  await type('half');
  screen.text('one two ');
  screen.text('three four');
  expect(await shown()).toEqual({ rows: ['hello', 'one two thre', 'e four', '> half'], row: 3, column: 6 });
  await type(' a long line');
  screen.text(' five');
  screen.lines('note');
  screen.text('six');
  expect((await shown()).rows).toEqual([
    'hello',
    'one two thre',
    'e four five',
    'note',
    'six',
    '> half a lon',
    'g line',
  ]);
  close();
});

test('any order of output and typing: everything is shown, complete and in order', async () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '漢', '\n'), minLength: 1, maxLength: 30 });
  const typed = fc.string({ unit: fc.constantFrom('x', 'y', '字'), minLength: 1, maxLength: 20 });
  const step = fc.oneof(
    fc.record({ text: word }),
    fc.record({ lines: word }),
    fc.record({ typed }),
    fc.constantFrom({ left: true }, { end: true }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const { screen, shown, rl, type, close } = openScreen();
      screen.openPrompt();
      for (const one of steps) {
        if ('text' in one) screen.text(one.text);
        else if ('lines' in one) screen.lines(one.lines);
        else if ('typed' in one && rl.cursor === rl.line.length) await type(one.typed);
        else if ('typed' in one) {
          // node:readline itself loses a row when text that fills a row is pasted into the middle.
          for (const key of one.typed) await type(key);
        } else if ('left' in one) await type('\u001b[D');
        else screen.endText();
      }
      const squeezed = (text: string) => text.replaceAll(/\s/g, '');
      const written = steps
        .map((one) => ('text' in one ? one.text : 'lines' in one ? one.lines : ''))
        .join('');
      const { rows } = await shown();
      expect(squeezed(rows.join(''))).toBe(squeezed(`${written}> ${rl.line}`));
      close();
    }),
  );
});
