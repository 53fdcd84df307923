/**
 * How many messages one gateway accepts per second: authenticated, validated, durable (appendfsync always),
 * doorbell rung. No worker runs, so only acceptance is measured. Compared in the same round with a bare
 * Fastify route that validates the same body (the raw limit: no key, no Redis).
 */
import { CreateRun } from '@harness/contracts';
import autocannon from 'autocannon';
import { fastify } from 'fastify';
import { z } from 'zod';
import { startGateway } from '../gateway.ts';

const connections = 16;
const seconds = 4;
/** Enough that the messages of one round stay below the mailbox limit of 100 per thread. */
const threads = 400;

/** Figures of one round. */
export interface AcceptRound {
  acceptedPerSecond: number;
  rawPerSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Measures one round. `acks`: replicas of this Redis that must confirm each message. */
export async function measureAccept(redisUrl: string, acks = 0): Promise<AcceptRound> {
  const key = 'key-of-the-benchmark';
  const settings = { LOG_LEVEL: 'error', HARNESS_API_KEY: key, HARNESS_REDIS_ACKS: String(acks) };
  const gateway = await startGateway(redisUrl, settings);
  try {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const threadIds: string[] = [];
    for (let n = 0; n < threads; n++) {
      const response = await fetch(`${gateway.ready.url}/v1/threads`, {
        method: 'POST',
        headers,
        body: '{}',
      });
      threadIds.push(((await response.json()) as { threadId: string }).threadId);
    }
    const ours = await fire(gateway.ready.url, headers, {
      pathOf: (n) => `/v1/threads/${threadIds[n % threads]}/runs`,
      expected: 202,
    });
    for (const threadId of threadIds) {
      await fetch(`${gateway.ready.url}/v1/threads/${threadId}`, {
        method: 'DELETE',
        headers: { authorization: headers.authorization },
      });
    }
    const raw = await measureRaw(headers);
    return {
      acceptedPerSecond: ours.perSecond,
      rawPerSecond: raw.perSecond,
      p50Ms: ours.p50Ms,
      p99Ms: ours.p99Ms,
    };
  } finally {
    await gateway.end(10_000);
  }
}

async function measureRaw(headers: Record<string, string>) {
  const app = fastify();
  const { $schema, ...body } = z.toJSONSchema(CreateRun);
  app.post('/v1/threads/:threadId/runs', { schema: { body } }, async (_request, reply) =>
    reply.code(202).send({ ok: true }),
  );
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const raw = await fire(url, headers, { pathOf: () => '/v1/threads/x/runs', expected: 202 });
  await app.close();
  return raw;
}

async function fire(
  url: string,
  headers: Record<string, string>,
  { pathOf, expected }: { pathOf: (n: number) => string; expected: number },
) {
  let n = 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        headers,
        body: JSON.stringify({ input: 'hello' }),
        setupRequest: (request) => ({ ...request, path: pathOf(n++) }),
      },
    ],
  });
  const answered = result.statusCodeStats ?? {};
  const accepted = answered[`${expected}`]?.count ?? 0;
  if (Object.keys(answered).length !== 1 || accepted === 0)
    throw new Error(`Not all responses had the status ${expected}: ${JSON.stringify(answered)}`);
  return { perSecond: accepted / result.duration, p50Ms: result.latency.p50, p99Ms: result.latency.p99 };
}
