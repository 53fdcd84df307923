/**
 * Messages between a gateway or worker and one of its plugin processes: JSON behind its length in bytes (4, big-endian), over a
 * socket pair. A message has a bound, and so has what waits to be read by the other side.
 */
import type { Duplex } from 'node:stream';

export interface Channel {
  /** Throws `MessageTooLarge` for a message beyond the bound, and TypeError for what is no JSON. */
  send(message: object): void;
  /** Bytes that the other side has not taken yet. */
  unsent(): number;
  close(): void;
}

export class MessageTooLarge extends Error {
  constructor(bytes: number) {
    super(`it has ${bytes} bytes as JSON, and at most ${maxMessageBytes} are passed on`);
    this.name = 'MessageTooLarge';
  }
}

/** A resource of the largest size, and what is said around it. */
const maxMessageBytes = 16 * 1024 * 1024;
const headBytes = 4;

/** `onClose` is called once, with the reason where the other side broke the rules. */
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
  stream.on('error', () => close()); // the other side is gone: its process says why
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
      // What is sent in one turn of the loop leaves together.
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
