import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { ReadStream } from 'node:tty';

/**
 * Stands for a line end within the typed line: a line can then be edited, recalled and sent as one, whatever was pasted
 * into it.
 */
export const lineEndMark = '↵';

/** Asks the terminal to mark what is pasted (bracketed paste), and to stop doing so. */
export const pasteMode = { on: '\u001b[?2004h', off: '\u001b[?2004l' };

const begin = '\u001b[200~';
const end = '\u001b[201~';

/** The text of a typed line: line ends are what they were. */
export const textOfTyped = (typed: string): string => typed.replaceAll(lineEndMark, '\n');

/**
 * The keys of a terminal. What is pasted becomes part of the typed line, whatever it has: a line end in it does not send the
 * line, and a tab does not complete it.
 */
export function readPastes(input: ReadStream): ReadStream {
  const decoder = new StringDecoder('utf8');
  const filter = createPasteFilter();
  const keys = new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const typed = filter(decoder.write(bytes));
      done(null, typed === '' ? undefined : typed);
    },
  });
  input.pipe(keys);
  const raw = { isTTY: true, setRawMode: (mode: boolean) => input.setRawMode(mode) };
  return Object.assign(keys, raw) as unknown as ReadStream;
}

/** Returns keys without the marks of pastes, piece by piece. */
export function createPasteFilter(): (piece: string) => string {
  let pasting = false;
  /** The end of the previous piece, which may be the beginning of a mark. */
  let held = '';
  let pasted = '';

  return (piece) => {
    let rest = held + piece;
    let typed = '';
    held = '';
    for (;;) {
      const mark = pasting ? end : begin;
      const at = rest.indexOf(mark);
      const take = (text: string) => {
        if (pasting) pasted += text;
        else typed += text;
      };
      if (at === -1) {
        const beginning = beginningOf(mark, rest, pasting ? 1 : 3);
        held = rest.slice(rest.length - beginning);
        take(rest.slice(0, rest.length - beginning));
        return typed;
      }
      take(rest.slice(0, at));
      if (pasting) typed += lineOfPasted(pasted);
      pasted = '';
      pasting = !pasting;
      rest = rest.slice(at + mark.length);
    }
  };
}

/** How many characters at the end of the text are the beginning of the mark; fewer than `least` may be a key. */
function beginningOf(mark: string, text: string, least: number): number {
  for (let length = Math.min(mark.length - 1, text.length); length >= least; length--)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

const control = /\p{Cc}/gu;

/** Pasted text as part of a line. A line end at its end is left out: people paste whole lines. */
const lineOfPasted = (text: string): string =>
  text
    .replace(/(\r\n|\r|\n)+$/, '')
    .replaceAll(/\r\n|\r|\n/g, lineEndMark)
    .replaceAll('\t', '    ')
    .replaceAll(control, '');
