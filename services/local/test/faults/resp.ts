/** Parses what a Redis client sends (RESP arrays of bulk strings), chunk by chunk. */
export interface CommandReader {
  /** Commands that are complete now, each with its end as an offset into this chunk. */
  feed(chunk: Buffer): { args: string[]; end: number }[];
}

export function createCommandReader(): CommandReader {
  let rest: Buffer = Buffer.alloc(0);
  return {
    feed(chunk) {
      const carried = rest.length;
      const data = carried === 0 ? chunk : Buffer.concat([rest, chunk]);
      const found: { args: string[]; end: number }[] = [];
      let at = 0;
      for (let command = readCommand(data, at); command; command = readCommand(data, at)) {
        at = command.end;
        found.push({ args: command.args, end: at - carried });
      }
      rest = data.subarray(at);
      return found;
    },
  };
}

function readCommand(data: Buffer, start: number): { args: string[]; end: number } | undefined {
  const head = readNumber(data, start);
  if (!head) return undefined;
  const args: string[] = [];
  let at = head.end;
  for (let i = 0; i < head.value; i++) {
    const size = readNumber(data, at);
    if (!size || data.length < size.end + size.value + 2) return undefined;
    args.push(data.toString('latin1', size.end, size.end + size.value));
    at = size.end + size.value + 2;
  }
  return { args, end: at };
}

/** `*3\r\n` or `$12\r\n`. */
function readNumber(data: Buffer, start: number): { value: number; end: number } | undefined {
  const end = data.indexOf('\r\n', start);
  if (end < 0) return undefined;
  return { value: Number(data.toString('latin1', start + 1, end)), end: end + 2 };
}
