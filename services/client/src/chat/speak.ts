import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { printableOf } from './printable.ts';
import type { Screen } from './screen.ts';
import type { Shown } from './thread-view.ts';

/** What is said on a terminal: above the typed line once there is one. All of it made printable. */
export interface Speaker {
  /** From now on the screen says it. */
  use(screen: Screen): void;
  show(shown: Shown): void;
  /** Plain lines. */
  say(text: string): void;
  /** A line beside the conversation. */
  note(text: string): void;
  /** Something failed. */
  warn(text: string): void;
}

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
    say: (text) => lines(text),
    note: (text) => lines(text, 'dim'),
    warn: (text) => lines(text, 'red'),
  };
}
