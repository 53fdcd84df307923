/** What one gateway counts of itself; what is known of the whole fleet is in `fleet-metrics.ts`. */
import { Histogram, type Registry } from 'prom-client';

export interface GatewayMetrics {
  /** A request was answered, also past Fastify. */
  answered(request: { method: string; route: string; status: number; seconds: number }): void;
  /** A tool that exists was called, and its call ended. */
  toolCalled(call: { tool: string; isError: boolean; seconds: number }): void;
  /** Redis took a write after so many seconds. */
  redisWritten(seconds: number): void;
}

/** Skills are tools, and there may be hundreds: the tools beyond the first so many that are called share one label. */
const maxToolLabels = 200;

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry];
  const requests = new Histogram({
    name: 'harness_http_request_seconds',
    help: 'Requests by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const calls = new Histogram({
    name: 'harness_tool_call_seconds',
    help: `Calls of tools at this gateway; "other" are the tools beyond the first ${maxToolLabels} that were called`,
    labelNames: ['tool', 'outcome'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const redis = new Histogram({
    name: 'harness_redis_write_seconds',
    help: 'One small write to Redis, made every second',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1],
    registers,
  });
  const requestOf = labelled(requests);
  const callOf = labelled(calls);
  const tools = new Set<string>();
  const labelOf = (tool: string): string => {
    if (tools.size < maxToolLabels) tools.add(tool);
    return tools.has(tool) ? tool : 'other';
  };
  return {
    answered({ method, route, status, seconds }) {
      requestOf(method, route, String(status)).observe(seconds);
    },
    toolCalled({ tool, isError, seconds }) {
      callOf(labelOf(tool), isError ? 'error' : 'ok').observe(seconds);
    },
    redisWritten: (seconds) => redis.observe(seconds),
  };
}

/** A label set is looked up by hashing; one for each kind is kept instead. Only for labels that are bounded. */
function labelled(histogram: Histogram): (...values: string[]) => { observe(seconds: number): void } {
  const known = new Map<string, { observe(seconds: number): void }>();
  return (...values) => {
    const kind = values.join(' ');
    const observer = known.get(kind) ?? histogram.labels(...values);
    known.set(kind, observer);
    return observer;
  };
}
