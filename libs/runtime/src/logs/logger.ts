/**
 * Structured logs: one JSON object per line, without secrets.
 *
 * This folder:
 *   standard-output.ts           standard output that never blocks
 *   line-output.ts               files for whole lines
 *   at-most-once-per-second.ts   at most one report of an error per second
 */
import { TraceFlags, trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { createScrubber, type Scrubber } from '../secrets/scrubber.ts';

/** The logger of pino. */
export type { Logger } from 'pino';

/** Where log lines go, and what is removed from them. */
export interface LoggerOptions {
  /** Default: standard output, which blocks while it is not read: see `openStandardOutput`. */
  destination?: DestinationStream | undefined;
  /** Default: one for the known shapes of secrets. */
  scrubber?: Scrubber | undefined;
}

/** Longest line that is written as it is, and longest text in a longer one, characters. */
const maxLineChars = 64 * 1024;
const maxTextChars = 8 * 1024;

/**
 * Creates a logger: one JSON object per line. Secrets are replaced in every line, wherever they are in it; in very long
 * lines, long texts are cut.
 */
export function createLogger(service: string, level: string, options: LoggerOptions = {}): Logger {
  const { destination, scrubber = createScrubber() } = options;
  const settings = {
    name: service,
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: withoutCommand },
    mixin: spanNow,
    hooks: { streamWrite: (line: string) => scrubber.line(bounded(line)) },
  };
  return destination ? pino(settings, destination) : pino(settings);
}

/** The ids of the span in which a line is logged, if it is sampled: others cannot be looked up. */
function spanNow(): object {
  const span = trace.getActiveSpan()?.spanContext();
  return span && span.traceFlags & TraceFlags.SAMPLED ? { trace_id: span.traceId, span_id: span.spanId } : {};
}

/** A line of bounded length, so that the time to look through it is bounded, too. */
function bounded(line: string): string {
  if (line.length <= maxLineChars) return line;
  const cut = (_name: string, value: unknown) => (typeof value === 'string' ? beginningOf(value) : value);
  return `${JSON.stringify(JSON.parse(line, cut))}\n`;
}

/** Cuts a long text between words: half of a secret would not be recognized. */
function beginningOf(text: string): string {
  if (text.length <= maxTextChars) return text;
  const end = Math.max(text.lastIndexOf(' ', maxTextChars), text.lastIndexOf('\n', maxTextChars), 0);
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

/** An error of the Redis client carries its command, whose arguments are user data. */
function withoutCommand(thrown: Error): object {
  const {
    command: _,
    previousErrors: __,
    ...fields
  } = stdSerializers.err(thrown) as unknown as Record<string, unknown>;
  return fields;
}
