import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../logs/logger.ts';
import { createScrubber } from '../secrets/scrubber.ts';
import { inSpan, noTracing, partsOf, siblingOf, spanIdOf } from './tracing.ts';
import { envTracing, startTracing } from './tracing-config.ts';

const start = async (env: Record<string, string>) => {
  const config = z.object(envTracing).parse(env);
  const tracing = await startTracing(config, {
    service: 'test',
    instance: 'one',
    scrubber: createScrubber(),
  });
  onTestFinished(tracing.close);
  return tracing;
};
/** A collector that takes everything. What it would receive is read in the tests of whole fleets. */
const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
let OTEL_EXPORTER_OTLP_ENDPOINT: string;
beforeAll(async () => {
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', OTEL_EXPORTER_OTLP_ENDPOINT); // the exporter reads it itself
});
afterAll(() => {
  vi.unstubAllEnvs();
  collector.close().closeAllConnections();
});

const linesOf = () => {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { lines, logger: createLogger('test', 'info', { destination }) };
};

test('without a collector nothing is recorded, and work runs unchanged', async () => {
  const tracing = await start({});
  expect(tracing).toBe(noTracing);
  const { lines, logger } = linesOf();
  await expect(
    inSpan(tracing, { name: 'work' }, async ({ traceparent }) => {
      logger.info('within');
      return traceparent;
    }),
  ).resolves.toBeUndefined();
  expect(lines[0]).not.toHaveProperty('trace_id');
});

test('spans nest, also across asynchronous steps; log lines have their ids', async () => {
  const tracing = await start({ OTEL_EXPORTER_OTLP_ENDPOINT });
  const { lines, logger } = linesOf();
  const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await inSpan(tracing, { name: 'outer', parent }, async (outer) => {
    expect(partsOf(outer.traceparent ?? '')?.traceId).toBe('a'.repeat(32));
    await new Promise(setImmediate);
    expect(tracing.current()).toBe(outer.traceparent);
    logger.info('within');
  });
  expect(tracing.current()).toBeUndefined();
  expect(lines).toEqual([
    expect.objectContaining({ trace_id: 'a'.repeat(32), span_id: expect.stringMatching(/^[0-9a-f]{16}$/) }),
  ]);
});

test('a span that is not sampled has no traceparent, so nothing joins it', async () => {
  const never = await start({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER: 'always_off' });
  await inSpan(never, { name: 'work' }, async ({ traceparent }) => expect(traceparent).toBeUndefined());
  // A span within one that is not sampled begins no trace of its own, whatever the share of traces.
  const half = await start({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER_ARG: '0.5' });
  for (let n = 0; n < 100; n++)
    await inSpan(half, { name: 'outer' }, (outer) =>
      inSpan(half, { name: 'inner' }, async (inner) =>
        expect([inner.traceparent === undefined, n]).toEqual([outer.traceparent === undefined, n]),
      ),
    );
  const unsampled = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;
  await inSpan(never, { name: 'work', parent: unsampled }, async () =>
    expect(never.current()).toBeUndefined(),
  );
});

test('an error fails the span and is thrown', async () => {
  const tracing = await start({ OTEL_EXPORTER_OTLP_ENDPOINT });
  await expect(
    inSpan(tracing, { name: 'work' }, async () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
});

test('traceparents are parsed strictly, and derived span ids are stable', () => {
  expect(partsOf('00-1-2-01')).toBeUndefined();
  expect(partsOf(`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`)).toBeUndefined();
  expect(spanIdOf('run_1')).toMatch(/^[0-9a-f]{16}$/);
  expect(siblingOf(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, spanIdOf('x'))).toBe(
    `00-${'a'.repeat(32)}-${spanIdOf('x')}-01`,
  );
});
