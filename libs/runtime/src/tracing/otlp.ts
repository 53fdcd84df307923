import { hostname } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Scrubber } from '../secrets/scrubber.ts';
import { type OpenSpan, partsOf, type SpanSpec, type Tracing } from './tracing.ts';

/** Where traces go, and which. */
export interface OtlpOptions {
  /** `service.name`. */
  service: string;
  /** `service.instance.id`: the process. */
  instance: string;
  /** Share of traces that are recorded, of those that begin here: 0 to 1. */
  ratio: number;
  hasContent: boolean;
  /** Replaces secrets in messages of errors. */
  scrubber: Scrubber;
}

/** Spans wait at most this long, ms: what a killed process has not sent is lost. */
const sendEveryMs = 200;
/** Longest time to send what is left at the end, ms. */
const closeLimitMs = 1_000;

/**
 * Starts to record spans. The exporter reads the standard variables OTEL_EXPORTER_OTLP_… itself. An unreachable collector
 * costs spans, never more.
 */
export function startOtlp(options: OtlpOptions): Tracing {
  const random = new RandomIdGenerator();
  const byRatio = new TraceIdRatioBasedSampler(options.ratio);
  /** Whether the next span was already sampled by `isSampled`: the SDK's sampler must not decide again. */
  let isDecided = false;
  /** Id of the span that is started next. */
  let nextSpanId: string | undefined;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': options.service,
      'service.instance.id': options.instance,
      'host.name': hostname(),
      'process.pid': process.pid,
    }),
    sampler: new ParentBasedSampler({
      root: {
        shouldSample: (parent, traceId) =>
          isDecided
            ? { decision: SamplingDecision.RECORD_AND_SAMPLED }
            : byRatio.shouldSample(parent, traceId),
        toString: () => byRatio.toString(),
      },
    }),
    idGenerator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => nextSpanId ?? random.generateSpanId(),
    },
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: sendEveryMs }),
    ],
  });
  // Plugins that use the API of OpenTelemetry themselves join our traces.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  trace.setGlobalTracerProvider(provider);
  const tracer = provider.getTracer('harness');

  const contextOf = (traceparent: string | undefined): Context => {
    if (traceparent === undefined) return context.active();
    const parts = partsOf(traceparent);
    return parts ? trace.setSpanContext(ROOT_CONTEXT, { ...parts, isRemote: true }) : ROOT_CONTEXT;
  };
  /** Whether to record a span with this parent; a span that begins a trace is sampled at random, by `ratio`. */
  const isSampled = (parent: string | undefined): boolean => {
    const flags =
      parent === undefined ? trace.getActiveSpan()?.spanContext().traceFlags : partsOf(parent)?.traceFlags;
    return flags === undefined ? Math.random() < options.ratio : (flags & TraceFlags.SAMPLED) !== 0;
  };
  const begin = ({ name, kind = 'INTERNAL', parent, links = [], attributes }: SpanSpec, startTime?: number) =>
    tracer.startSpan(
      name,
      {
        kind: SpanKind[kind],
        ...(attributes && { attributes }),
        ...(startTime !== undefined && { startTime }),
        links: links.flatMap((link) => {
          const parts = partsOf(link);
          return parts ? [{ context: parts }] : [];
        }),
      },
      contextOf(parent),
    );
  const failed = (span: Span, type: string, message = '') => {
    span.setAttribute('error.type', type);
    span.setStatus({ code: SpanStatusCode.ERROR, message: options.scrubber.text(message) });
  };

  return {
    isOn: true,
    hasContent: options.hasContent,
    current: () => traceparentOfSpan(trace.getActiveSpan()),
    start(spec): OpenSpan {
      if (!isSampled(spec.parent)) return notRecorded;
      isDecided = true;
      const span = begin(spec);
      isDecided = false;
      return {
        traceparent: traceparentOfSpan(span),
        within: (work) => context.with(trace.setSpan(context.active(), span), work),
        set: (attributes) => void span.setAttributes(attributes),
        fail: (type, message) => failed(span, type, message),
        end: () => span.end(),
      };
    },
    within: (traceparent, work) =>
      traceparent === undefined ? work() : context.with(contextOf(traceparent), work),
    record({ spanId, startMs, endMs, error, events = [], ...spec }) {
      nextSpanId = spanId;
      const span = begin(spec, startMs);
      nextSpanId = undefined;
      for (const { name, attributes, atMs } of events) span.addEvent(name, attributes, atMs);
      if (error !== undefined) failed(span, error, error);
      span.end(Math.max(startMs, endMs));
    },
    async close() {
      // The collector may be unreachable: then the exporter retries for many seconds.
      const sent = provider.shutdown().catch(() => undefined);
      await Promise.race([sent, after(closeLimitMs, undefined, { ref: false })]);
      trace.disable();
      context.disable();
    },
  };
}

/** What is started within a span that is not recorded begins no trace of its own. */
const unsampled = trace.setSpanContext(ROOT_CONTEXT, {
  traceId: 'f'.repeat(32),
  spanId: 'f'.repeat(16),
  traceFlags: TraceFlags.NONE,
});
const notRecorded: OpenSpan = {
  traceparent: undefined,
  within: (work) => context.with(unsampled, work),
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

function traceparentOfSpan(span: Span | undefined): string | undefined {
  if (!span) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  return traceFlags & TraceFlags.SAMPLED ? `00-${traceId}-${spanId}-01` : undefined;
}
