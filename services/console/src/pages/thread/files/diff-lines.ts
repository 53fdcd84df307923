/** A unified diff, and a text, as lines with their numbers. Pure. */

/** A line of a file or of a diff. */
export interface CodeLine {
  /** file: the name of a file begins its part of a diff; hunk: a place in it; note: what has no lines. */
  kind: 'same' | 'added' | 'removed' | 'file' | 'hunk' | 'note';
  /** Of a diff with the sign that it begins with. */
  text: string;
  /** Number of the line before and after. */
  old?: number;
  now?: number;
}

/** The lines of a text. */
export function linesOf(text: string): CodeLine[] {
  const lines = text.split(/\r\n|\r|\n/);
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines.map((line, index) => ({ kind: 'same', text: line, now: index + 1 }));
}

const kinds = { '+': 'added', '-': 'removed', ' ': 'same' } as const;
const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The lines of a unified diff; the two lines with the names of a file become one. */
export function diffLinesOf(diff: string): CodeLine[] {
  const lines: CodeLine[] = [];
  // Numbers of the next lines, and how many lines of the hunk are left: one that begins with --- may be a removed one.
  let [old, now, oldLeft, nowLeft] = [0, 0, 0, 0];
  let before: string | undefined;
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const kind = kinds[text[0] as keyof typeof kinds];
    if ((oldLeft > 0 || nowLeft > 0) && kind) {
      const line: CodeLine = { kind, text };
      if (kind !== 'added') {
        line.old = old++;
        oldLeft--;
      }
      if (kind !== 'removed') {
        line.now = now++;
        nowLeft--;
      }
      lines.push(line);
      continue;
    }
    const place = hunk.exec(text);
    if (place) {
      [old, now] = [Number(place[1]), Number(place[3])];
      [oldLeft, nowLeft] = [Number(place[2] ?? 1), Number(place[4] ?? 1)];
      lines.push({ kind: 'hunk', text });
    } else if (text.startsWith('--- ')) before = nameOf(text);
    else if (text.startsWith('+++ ') && before !== undefined) {
      lines.push({ kind: 'file', text: titleOf(before, nameOf(text)) });
      before = undefined;
    } else if (text !== '') lines.push({ kind: 'note', text });
  }
  return lines;
}

const nameOf = (line: string) => line.slice(4).replace(/\t.*$/, '');
const nothing = '/dev/null';

function titleOf(before: string, after: string): string {
  if (before === nothing) return `${plain(after)} (new)`;
  if (after === nothing) return `${plain(before)} (deleted)`;
  return plain(after);
}

/** Without the a/ or b/ that a diff puts first; a name in quotes stays as it is. */
const plain = (name: string) => name.replace(/^[ab]\//, '');
