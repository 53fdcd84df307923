/**
 * Metrics of one gateway.
 *
 * This folder:
 *   fleet-metrics.ts    metrics of the whole fleet, read from Redis
 *   read-fleet.ts       what is known about the whole fleet
 *   plugin-metrics.ts   processes of isolated plugins at this gateway
 */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { ToolCall } from '../tools/tool-call.ts';

/** A call of a tool that has ended. */
export interface ToolCalled {
  tool: string;
  transport: ToolCall['transport'] | 'session';
  isError: boolean;
  seconds: number;
}

/** Records what the gateway does. */
export interface GatewayMetrics {
  /** A response was sent, by Fastify or by the short path of /mcp. */
  answered(request: { method: string; route: string; status: number; seconds: number }): void;
  /** A call of an existing tool has ended. */
  toolCalled(call: ToolCalled): void;
  /** Audit records were not stored in Redis. */
  auditDropped(count: number): void;
  /** The replicas of Redis did not confirm a write in time. */
  ackMissed(): void;
  /** A probe write to Redis succeeded after this time. */
  redisWritten(seconds: number): void;
}

/**
 * Most tool names used as labels (skills are tools, and there may be hundreds); further tools share the label
 * "other".
 */
const maxToolLabels = 200;

/** Registers the metrics in the registry. */
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
    help: `Tool calls at this gateway; "other": tools beyond the first ${maxToolLabels} called`,
    labelNames: ['tool', 'transport', 'outcome'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const redis = new Histogram({
    name: 'harness_redis_write_seconds',
    help: 'Duration of a small write to Redis, made every second',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1],
    registers,
  });
  const auditDropped = new Counter({
    name: 'harness_audit_dropped_total',
    help: 'Audit records that were not stored in Redis: it did not take them in time',
    registers,
  });
  const acksMissed = new Counter({
    name: 'harness_redis_acks_missed_total',
    help: 'Writes that the replicas of Redis did not confirm in time (HARNESS_REDIS_ACKS)',
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
      requestOf(method, route, status).observe(seconds);
    },
    toolCalled({ tool, transport, isError, seconds }) {
      callOf(labelOf(tool), transport, isError ? 'error' : 'ok').observe(seconds);
    },
    auditDropped: (count) => auditDropped.inc(count),
    ackMissed: () => acksMissed.inc(),
    redisWritten: (seconds) => redis.observe(seconds),
  };
}

interface Observer {
  observe(seconds: number): void;
}

/**
 * Caches the observers of a histogram with three labels, which saves the hashing of their values at each observation. Only
 * for labels with few values.
 */
function labelled(histogram: Histogram): (first: string, second: string, third: string | number) => Observer {
  const known = new Map<string, Map<string, Map<string | number, Observer>>>();
  return (first, second, third) => {
    const byThird = within(within(known, first), second);
    const observer = byThird.get(third) ?? histogram.labels(first, second, String(third));
    byThird.set(third, observer);
    return observer;
  };
}

/** The map under a key, made if there is none. */
function within<Key, Inner extends Map<unknown, unknown>>(maps: Map<Key, Inner>, key: Key): Inner {
  const known = maps.get(key) ?? (new Map() as Inner);
  maps.set(key, known);
  return known;
}
