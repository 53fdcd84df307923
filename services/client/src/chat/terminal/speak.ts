import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { printableOf } from '../printable.ts';
import type { Shown } from '../thread-view.ts';
import type { Screen } from './screen.ts';

/** Writes to a terminal, above the typed line once there is one. Makes all text printable. */
export interface Speaker {
  /** Writes through this screen from now on. */
  use(screen: Screen): void;
  show(shown: Shown): void;
  /** Writes plain lines. */
  write(text: string): void;
  /** Writes a dim line, for information. */
  note(text: string): void;
  /** Writes a red line, for a failure. */
  warn(text: string): void;
}

/** Creates a speaker; until `use` it writes directly. */
export function createSpeaker(output: WriteStream): Speaker {
  let screen: Screen | undefined;
  const lines = (text: string, style?: 'dim' | 'red') => {
    const printable = printableOf(text);
    const styled = style ? styleText(style, printable, { stream: output }) : printable;
    if (screen) screen.lines(styled);
    else output.write(`${styled}\n`);
  };
  return {
    use(one) {
      screen = one;
    },
    show(shown) {
      if (shown.kind === 'text') screen?.text(printableOf(shown.text));
      else if (shown.kind === 'end') screen?.endText();
      else lines(shown.text, shown.bad ? 'red' : 'dim');
    },
    write: (text) => lines(text),
    note: (text) => lines(text, 'dim'),
    warn: (text) => lines(text, 'red'),
  };
}
