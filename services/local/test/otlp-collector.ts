import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';
import { onTestFinished } from 'vitest';

/** A span as it arrived. */
export interface SeenSpan {
  traceId: string;
  spanId: string;
  /** "": it has none. */
  parent: string;
  links: string[];
  name: string;
  /** `service.name` of its process. */
  service: string;
  /** Times, ms. */
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  events: string[];
  isError: boolean;
}

export interface Collector {
  url: string;
  spans(): SeenSpan[];
}

/** The part of the OTLP protocol that the tests read. */
const proto = `syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span { bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; repeated Link links = 13; Status status = 15; }
message Event { string name = 2; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
  ArrayValue array_value = 5; } }
message ArrayValue { repeated AnyValue values = 1; }`;

interface KeyValue {
  key: string;
  value: Record<string, unknown>;
}
interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: KeyValue[];
  events: { name: string }[];
  links: { spanId: string }[];
  status: { code: number } | null;
}

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex');
const ms = (nanos: string) => Number(BigInt(nanos) / 1000n) / 1000;
const valuesOf = (list: readonly KeyValue[]) =>
  Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value ?? {})[0]]));

/** Starts an OTLP collector on a free port, until the test ends. */
export async function openCollector(): Promise<Collector> {
  const type = protobuf.parse(proto).root.lookupType('Request');
  const spans: SeenSpan[] = [];
  const take = (body: Buffer) => {
    const { resourceSpans } = type.toObject(type.decode(body), {
      longs: String,
      bytes: String,
      defaults: true,
      oneofs: false,
    }) as {
      resourceSpans: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: WireSpan[] }[] }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      const { 'service.name': service } = valuesOf(resource.attributes);
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parent: hex(span.parentSpanId),
          links: span.links.map(({ spanId }) => hex(spanId)),
          name: span.name,
          service: String(service),
          startMs: ms(span.startTimeUnixNano),
          endMs: ms(span.endTimeUnixNano),
          attributes: valuesOf(span.attributes),
          events: span.events.map(({ name }) => name),
          isError: span.status?.code === 2,
        });
    }
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    take(Buffer.concat(chunks));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans: () => spans };
}

/** The spans of a trace as a tree: a line each, indented by depth, in the order of their begin. */
export function treeOf(spans: readonly SeenSpan[], parent = '', depth = 0): string[] {
  return spans
    .filter((span) => span.parent === parent)
    .sort((one, other) => one.startMs - other.startMs)
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.name}${span.isError ? ' !' : ''}`,
      ...treeOf(spans, span.spanId, depth + 1),
    ]);
}

/** Spans whose parent did not arrive. */
export const orphansIn = (spans: readonly SeenSpan[]): SeenSpan[] => {
  const known = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter(({ parent }) => parent !== '' && !known.has(parent));
};
