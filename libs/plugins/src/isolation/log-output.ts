/** Logs what a plugin process prints. Its cost for the owner is bounded, however much the process prints. */
import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { PluginLogger } from '@harness/plugin-kit';

/** The rest of a longer line is dropped while it arrives: a line without an end must not take memory. */
const maxLineChars = 8_192;
/**
 * Limits of each stream within a second. A stream that reaches one is not read until the second is over, so that a process
 * that prints without end waits for the owner, and not the reverse. The lines that were already read are dropped.
 */
const maxLines = 200;
const maxChars = 1024 * 1024;
const secondMs = 1_000;

/** Logs the output of a process. Returns a function for its last line on stderr that is no stack frame. */
export function logOutput(child: ChildProcess, logger: PluginLogger): () => string {
  let last = '';
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = child[stream];
    if (!source) continue;
    const level = stream === 'stdout' ? 'info' : 'warn';
    const readOn = readLines(source, {
      onLine(line, isWithinLimit) {
        if (stream === 'stderr' && !line.startsWith('    at ')) last = line;
        if (isWithinLimit) logger[level]({ stream }, line);
      },
      onDropped: (dropped) =>
        logger.warn({ stream, dropped }, 'lines were dropped: the plugin prints too many per second'),
    });
    child.once('exit', readOn);
  }
  return () => last;
}

interface LineReader {
  /** A line, or the beginning of one that is too long. */
  onLine(line: string, isWithinLimit: boolean): void;
  /** Number of the lines above the limit, once per second. */
  onDropped(lines: number): void;
}

/**
 * Reads a stream within the limits. Returns a function that reads the remaining output of an ended process without further
 * pauses, because it may contain the reason of the end.
 */
function readLines(source: Readable, { onLine, onDropped }: LineReader): () => void {
  let line = '';
  /** The current line was passed on; what is left of it is dropped. */
  let isPassed = false;
  let startedAt = 0;
  let lines = 0;
  let chars = 0;
  let isLast = false;
  let pause: NodeJS.Timeout | undefined;

  const pass = () => {
    lines++;
    onLine(line.endsWith('\r') ? line.slice(0, -1) : line, lines <= maxLines);
    line = '';
  };
  const add = (part: string) => {
    if (isPassed) return;
    line += part.slice(0, maxLineChars - line.length);
    if (line.length < maxLineChars) return;
    pass();
    isPassed = true;
  };
  const endLine = () => {
    if (!isPassed) pass();
    isPassed = false;
  };
  const startSecond = () => {
    clearTimeout(pause);
    pause = undefined;
    if (lines > maxLines) onDropped(lines - maxLines);
    startedAt = performance.now();
    lines = 0;
    chars = 0;
  };
  const resume = () => {
    startSecond();
    source.resume();
  };

  source.setEncoding('utf8');
  source.on('data', (text: string) => {
    if (performance.now() - startedAt > secondMs) startSecond();
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      add(text.slice(from, end));
      endLine();
      from = end + 1;
    }
    add(text.slice(from));
    chars += text.length;
    if ((lines < maxLines || isLast) && chars < maxChars) return;
    source.pause();
    pause ??= setTimeout(resume, secondMs - (performance.now() - startedAt));
  });
  source.on('error', () => undefined); // the exit of the process gives the reason
  source.once('close', () => {
    if (line !== '') endLine();
    startSecond();
  });
  return () => {
    isLast = true;
    resume();
  };
}
