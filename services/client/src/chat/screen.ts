/**
 * A terminal with two things on it: what comes, above, and the line that is being typed, below. To show something, the
 * typed line is taken off, what comes goes where the last of it ended, and the typed line is put back as it was.
 */

import type { Interface } from 'node:readline';
import { Readline } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import stringWidth from 'string-width';

export interface Screen {
  /** A piece of text that may go on with the next one. */
  text(piece: string): void;
  /** The text is whole: what comes next begins a line. */
  endText(): void;
  /** Lines of their own. */
  lines(text: string): void;
  /** The typed line is shown from now on. */
  openPrompt(): void;
  /** It is not shown any more, and cannot be. */
  closePrompt(): void;
  /** Something else was written below the open text: it is out of reach. */
  breakText(): void;
}

/**
 * node:readline keeps here how many rows its cursor stands below the beginning of the prompt, and goes up so many before
 * it shows the line again. Undocumented, and as old as readline: without it, lines of several rows are not put back well.
 */
type Prompt = Interface & { prevRows?: number };

export function createScreen(
  prompt: Prompt,
  { input, output }: { input: Pick<ReadStream, 'on'>; output: WriteStream },
): Screen {
  /** Where the open text's last row ends; 0 = there is none. */
  let column = 0;
  let shown = false;

  /** `goOn`: where the open text ends; else on a line of its own. */
  const write = (text: string, goOn: boolean) => {
    const { columns = 80 } = output; // a terminal that does not say is taken as an ordinary one
    output.cork();
    if (shown) {
      const move = new Readline(output)
        .moveCursor(0, -prompt.getCursorPos().rows)
        .cursorTo(0)
        .clearScreenDown();
      // The open text's last row is the one above, unless it is full.
      if (goOn && column > 0 && column < columns) move.moveCursor(0, -1).cursorTo(column);
      void move.commit();
    } else if (!goOn && column > 0) output.write('\n');
    output.write(text);
    column = columnAfter(text, goOn ? column : 0, columns);
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
    // What is pasted is written as it comes, and its rows are not counted.
    if (shown) prompt.prevRows = prompt.getCursorPos().rows;
    if (key?.ctrl && key.name === 'l') breakText(); // the rest of the terminal is bare
  });
  for (const event of ['line', 'SIGCONT']) prompt.on(event, breakText);
  output.on('resize', breakText);

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
    breakText,
  };
}

const graphemes = new Intl.Segmenter();

/** Where the last row of a text ends that begins at a column; a wide character that does not fit begins the next row. */
function columnAfter(text: string, begin: number, columns: number): number {
  const end = text.lastIndexOf('\n');
  let column = end === -1 ? begin : 0;
  for (const { segment } of graphemes.segment(text.slice(end + 1))) {
    const wide = stringWidth(segment);
    column = column + wide > columns ? wide : column + wide;
  }
  return column;
}
