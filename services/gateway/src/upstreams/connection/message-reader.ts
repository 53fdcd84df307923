import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/** Largest message of a child, bytes. */
const maxMessageBytes = 16 * 1024 * 1024;
/** A line that is longer may have no end, and counts as ended, bytes. */
const maxLineBytes = 16 * maxMessageBytes;
/** How much of the beginning and the end of a larger message is kept, to find the id that it answers. */
const keptBytes = 4_096;

/** A line. */
export interface ReadLine {
  /** Undefined for a line that is no message. */
  message: JSONRPCMessage | undefined;
  bytes: number;
}

/**
 * Creates the function that yields the lines that are complete with a chunk. For a line that is no message, `onError` gets the reason. A line
 * that is too long is dropped while it arrives; if it was a response, its request gets an error instead.
 */
export function createMessageReader(onError: (error: Error) => void): (chunk: Buffer) => Generator<ReadLine> {
  let parts: Buffer[] = [];
  let bytes = 0;
  /** Set while a line that is too long is dropped. */
  let dropped: { head: string; tail: Buffer } | undefined;
  const take = (piece: Buffer) => {
    bytes += piece.length;
    if (dropped) dropped.tail = Buffer.concat([dropped.tail, piece]).subarray(-keptBytes);
    else if (bytes <= maxMessageBytes) parts.push(piece);
    else {
      const head = Buffer.concat([...parts, piece]);
      dropped = { head: head.toString('utf8', 0, keptBytes), tail: head.subarray(-keptBytes) };
      parts = [];
    }
  };
  const end = (): ReadLine => {
    const line = { message: messageOf(), bytes };
    [parts, bytes, dropped] = [[], 0, undefined];
    return line;
  };
  const messageOf = (): JSONRPCMessage | undefined => {
    const size = bytes;
    if (dropped) {
      const id = idIn(dropped.head) ?? idIn(dropped.tail.toString('utf8'));
      onError(new Error(`a message of ${size} bytes was dropped; at most ${maxMessageBytes} are read`));
      return id === undefined ? undefined : tooLarge(id, size);
    }
    const line = Buffer.concat(parts).toString('utf8').trim();
    if (line === '') return undefined;
    // Parsing fails at more cost than it succeeds; what begins like this is no message.
    if (line.startsWith('{') || line.startsWith('[')) {
      try {
        return JSON.parse(line);
      } catch {
        // As any other text.
      }
    }
    onError(new Error('it writes lines that are no JSON to its standard output'));
    return undefined;
  };
  return function* (chunk) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      take(chunk.subarray(from, at));
      yield end();
      from = at + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
    if (bytes > maxLineBytes) yield end();
  };
}

/** The id of a response, at one end of its JSON: our ids are numbers. */
const idIn = (text: string): number | undefined => {
  const found =
    /^\{(?:"jsonrpc":"2.0",)?"id":(\d+)[,}]/.exec(text) ?? /"id":(\d+)(?:,"jsonrpc":"2.0")?\}\s*$/.exec(text);
  return found ? Number(found[1]) : undefined;
};

const tooLarge = (id: number, bytes: number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: -32603,
    message: `The response has ${bytes} bytes; at most ${maxMessageBytes} are read. Ask for less.`,
  },
});
