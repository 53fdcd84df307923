/**
 * Messages between a gateway or worker and one of its plugin processes, over a socket pair. A message is its length in
 * bytes (4 bytes, big-endian) followed by JSON. Its size is bounded; the owner also bounds the unsent bytes.
 */
import type { Duplex } from 'node:stream';

/** An open connection. */
export interface Channel {
  /** Throws `MessageTooLarge`, or TypeError for a value that is not JSON. Does nothing after the channel is closed. */
  send(message: object): void;
  /** Bytes that the other side has not read yet. */
  unsent(): number;
  close(): void;
}

/** A message exceeds the limit. */
export class MessageTooLarge extends Error {
  constructor(bytes: number) {
    super(`it has ${bytes} bytes as JSON; at most ${maxMessageBytes} are allowed`);
    this.name = 'MessageTooLarge';
  }
}

/** Enough for the largest resource (10 MiB) and its envelope. */
const maxMessageBytes = 16 * 1024 * 1024;
const headBytes = 4;

/** Opens a channel on a stream. `onClose` is called once; with an error if the other side sent an invalid message. */
export function openChannel(
  stream: Duplex,
  { onMessage, onClose }: { onMessage(message: unknown): void; onClose(error?: Error): void },
): Channel {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let needed = headBytes;
  let isHead = true;
  let closed = false;
  const close = (error?: Error) => {
    if (closed) return;
    closed = true;
    stream.destroy();
    onClose(error);
  };
  const uncork = () => stream.uncork();
  const take = (): Buffer => {
    const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    const part = all.subarray(0, needed);
    chunks = all.length > needed ? [all.subarray(needed)] : [];
    bytes -= needed;
    return part;
  };
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    while (bytes >= needed && !closed) {
      const part = take();
      if (isHead) {
        needed = part.readUInt32BE();
        if (needed > maxMessageBytes) return close(new MessageTooLarge(needed));
      } else {
        needed = headBytes;
        try {
          onMessage(JSON.parse(part.toString()));
        } catch (error) {
          return close(error as Error);
        }
      }
      isHead = !isHead;
    }
  });
  stream.on('error', () => close()); // the other side has disconnected; its process's exit gives the reason
  stream.on('close', () => close());
  return {
    send(message) {
      const text = JSON.stringify(message);
      const length = Buffer.byteLength(text);
      if (length > maxMessageBytes) throw new MessageTooLarge(length);
      if (closed) return;
      const frame = Buffer.allocUnsafe(headBytes + length);
      frame.writeUInt32BE(length);
      frame.write(text, headBytes);
      // Messages of one tick of the event loop are written together.
      if (stream.writableCorked === 0) {
        stream.cork();
        process.nextTick(uncork);
      }
      stream.write(frame);
    },
    unsent: () => stream.writableLength,
    close,
  };
}
