/** A typed line. A slash has a meaning only here; in text for the model it is text. */
export type Line =
  | { kind: 'blank' }
  | { kind: 'command'; command: string }
  | { kind: 'message'; text: string };

/** Parses a line: `/x` is a command, `//x` is the message `/x`. */
export function lineOf(typed: string): Line {
  if (typed.trim() === '') return { kind: 'blank' };
  if (typed.startsWith('//')) return { kind: 'message', text: typed.slice(1) };
  return typed.startsWith('/') ? { kind: 'command', command: typed } : { kind: 'message', text: typed };
}
