/**
 * A terminal with output above and the line that is being typed below. To show output, the typed line is erased, the
 * output is written where the previous output ended, and the typed line is drawn again.
 */

import type { Interface } from 'node:readline';
import { Readline } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import stringWidth from 'string-width';

/** The output area of a terminal. */
export interface Screen {
  /** Writes a piece of text; the next piece continues it on the same line. */
  text(piece: string): void;
  /** Ends the open text: the next output starts on a new line. */
  endText(): void;
  /** Writes complete lines. */
  lines(text: string): void;
  /** Shows the typed line from now on. */
  openPrompt(): void;
  /** Hides the typed line for good. */
  closePrompt(): void;
  /** Shows this text before the prompt; '' = none. */
  prefix(text: string): void;
  /** Something else was written below the open text, so the next piece cannot continue it. */
  breakText(): void;
}

/**
 * `prevRows` of node:readline is the number of rows from the start of the prompt to the cursor; readline moves up by it
 * before it draws the line again. It is undocumented, but as old as readline, and needed to redraw lines of several rows.
 */
type Prompt = Interface & { prevRows?: number };

/** Creates the screen; listens to keys and resizes, which can move the output. */
export function createScreen(
  prompt: Prompt,
  { input, output }: { input: Pick<ReadStream, 'on'>; output: WriteStream },
): Screen {
  /** Column where the last row of the open text ends; 0 = no open text. */
  let column = 0;
  let shown = false;
  const plain = prompt.getPrompt();

  /** `isContinued`: continue at the end of the open text; otherwise start a new line. */
  const write = (text: string, isContinued: boolean) => {
    const { columns = 80 } = output; // default for a terminal without a known width
    output.cork();
    if (shown) {
      const move = new Readline(output)
        .moveCursor(0, -prompt.getCursorPos().rows)
        .cursorTo(0)
        .clearScreenDown();
      // The last row of the open text is the row above, unless it is full.
      if (isContinued && column > 0 && column < columns) move.moveCursor(0, -1).cursorTo(column);
      void move.commit();
    } else if (!isContinued && column > 0) output.write('\n');
    output.write(text);
    column = columnAfter(text, isContinued ? column : 0, columns);
    if (shown) {
      if (column > 0) output.write('\n');
      prompt.prevRows = 0;
      prompt.prompt(true);
    }
    output.uncork();
  };
  const breakText = () => {
    column = 0;
  };

  input.on('keypress', (_text: string | undefined, key: { ctrl?: boolean; name?: string } | undefined) => {
    // readline writes pasted text without updating prevRows.
    if (shown) prompt.prevRows = prompt.getCursorPos().rows;
    if (key?.ctrl && key.name === 'l') breakText(); // Ctrl-L has cleared the terminal
  });
  for (const event of ['line', 'SIGCONT']) prompt.on(event, breakText);
  // The terminal has wrapped the typed line to its new width, so the cursor is on another row of it. This must be known before
  // readline's own listener draws the line anew.
  output.prependListener('resize', () => {
    if (shown) prompt.prevRows = prompt.getCursorPos().rows;
    breakText();
  });

  return {
    text: (piece) => write(piece.replaceAll('\t', '    '), true),
    lines: (text) => write(`${text.replaceAll('\t', '    ')}\n`, false),
    endText() {
      if (!shown && column > 0) output.write('\n');
      column = 0;
    },
    openPrompt() {
      if (column > 0) output.write('\n');
      shown = true;
      prompt.prompt(true);
    },
    closePrompt() {
      if (shown) output.write('\n');
      shown = false;
      column = 0;
    },
    prefix(text) {
      const wanted = `${text}${plain}`;
      if (!shown || prompt.getPrompt() === wanted) return;
      output.cork();
      void new Readline(output)
        .moveCursor(0, -prompt.getCursorPos().rows)
        .cursorTo(0)
        .clearScreenDown()
        .commit();
      prompt.prevRows = 0;
      prompt.setPrompt(wanted);
      prompt.prompt(true);
      output.uncork();
    },
    breakText,
  };
}

const graphemes = new Intl.Segmenter();

/** The column after a text that starts at `begin`. A wide character that does not fit goes to the next row. */
function columnAfter(text: string, begin: number, columns: number): number {
  const end = text.lastIndexOf('\n');
  let column = end === -1 ? begin : 0;
  for (const { segment } of graphemes.segment(text.slice(end + 1))) {
    const wide = stringWidth(segment);
    column = column + wide > columns ? wide : column + wide;
  }
  return column;
}
