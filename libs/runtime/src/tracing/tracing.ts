/**
 * Traces: spans of OpenTelemetry, sent over OTLP. Without a collector's address nothing is loaded and nothing recorded.
 *
 * Ids are W3C traceparents (`00-<trace>-<span>-01`), and only of sampled traces: an absent traceparent means "not traced", so
 * nothing but a request starts a trace. A span that several processes refer to has an id that is derived from what
 * they all know (`spanIdOf`); whichever of them sees its end records it.
 *
 * This folder:
 *   otlp.ts             the OpenTelemetry SDK and its exporter
 *   tracing-config.ts   the environment variables
 */
import { createHash } from 'node:crypto';
import type { Attributes, SpanKind } from '@opentelemetry/api';

/** What a span says besides its times. */
export interface SpanSpec {
  name: string;
  /** Default: internal. */
  kind?: keyof typeof SpanKind;
  /** Its parent as a traceparent; `'current'` (default): the span of this context, or none. */
  parent?: string | undefined;
  /** Other spans that it belongs to, as traceparents. */
  links?: readonly string[];
  attributes?: Attributes;
}

/** A span that has ended, recorded in one step. */
export interface EndedSpan extends SpanSpec {
  parent: string;
  /** 16 hex digits. Default: random. */
  spanId?: string;
  /** Times of the clock, ms. */
  startMs: number;
  endMs: number;
  /** Why it failed. */
  error?: string | undefined;
  events?: readonly { name: string; atMs: number; attributes?: Attributes }[];
}

/** A span in progress. */
export interface OpenSpan {
  /** Undefined: it is not sampled. */
  readonly traceparent: string | undefined;
  /**
   * Runs the work within the span. If the span is not sampled, neither are the spans that the work starts: they begin no
   * trace of their own.
   */
  within<T>(work: () => T): T;
  set(attributes: Attributes): void;
  /** Marks it as failed. `type`: `error.type`. */
  fail(type: string, message?: string): void;
  end(): void;
}

/** Records spans. Every method is safe when traces are off. */
export interface Tracing {
  /** False: no collector is configured. */
  readonly isOn: boolean;
  /** Whether spans may have the content of messages, arguments and results. */
  readonly hasContent: boolean;
  /** The span of this context as a traceparent; undefined: there is none, or it is not sampled. */
  current(): string | undefined;
  /** Starts a span; the caller ends it. */
  start(spec: SpanSpec): OpenSpan;
  /** Runs the work within the span `traceparent`, which another process or a later step records. */
  within<T>(traceparent: string | undefined, work: () => T): T;
  /** Records a span that has ended. */
  record(span: EndedSpan): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

const notSampled: OpenSpan = {
  traceparent: undefined,
  within: (work) => work(),
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

/** Traces that are off. */
export const noTracing: Tracing = {
  isOn: false,
  hasContent: false,
  current: () => undefined,
  start: () => notSampled,
  within: (_traceparent, work) => work(),
  record: () => undefined,
  close: async () => undefined,
};

/** Runs the work in a span: within it, and until it has ended. An error fails the span and is thrown. */
export function inSpan<T>(
  tracing: Tracing,
  spec: SpanSpec,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const span = tracing.start(spec);
  // Most spans are not sampled: this is all that they cost.
  return span.traceparent === undefined ? span.within(() => work(span)) : ended(span, work);
}

async function ended<T>(span: OpenSpan, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    return await span.within(() => work(span));
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string };
    span.fail(typeof code === 'string' ? code : 'error', message);
    throw error;
  } finally {
    span.end();
  }
}

/** The id of the span of something that has a unique id of its own: 16 hex digits. Lua scripts derive the same one. */
export const spanIdOf = (id: string): string => createHash('sha1').update(id).digest('hex').slice(0, 16);

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The parts of a traceparent; undefined for any other text. */
export function partsOf(
  traceparent: string,
): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, traceId, spanId, flags] = traceparentPattern.exec(traceparent) ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

/** The traceparent of another span of the same trace. */
export const siblingOf = (traceparent: string, spanId: string): string =>
  `00-${traceparent.slice(3, 35)}-${spanId}-01`;
