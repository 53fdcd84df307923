import { Transform } from 'node:stream';
import type { SpawnedProcess } from '@anthropic-ai/claude-agent-sdk';

/** Longest message of a session, bytes; the Agent SDK keeps a message in memory until its end. */
const maxLineBytes = 64 * 1024 * 1024;
const lineFeed = 10;

/** Ends standard output with `onBreach` at a line that is too long: a process of a tool, not the agent, may have written it. */
export function withBoundedLines(
  child: SpawnedProcess,
  onBreach: (reason: string) => void,
  mostBytes = maxLineBytes,
): SpawnedProcess {
  let bytes = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = chunk.lastIndexOf(lineFeed);
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end - 1;
      if (bytes <= mostBytes) return done(null, chunk);
      onBreach(`a message of more than ${mostBytes} bytes`);
      return done();
    },
  });
  child.stdout.pipe(bounded);
  return new Proxy(child, {
    get(target, name) {
      if (name === 'stdout') return bounded;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
