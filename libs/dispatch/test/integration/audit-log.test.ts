import { expect, test } from 'vitest';
import { openBench } from '../fixture.ts';

const recordsOf = (tenant: string | null, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    tenant,
    text: JSON.stringify({ at: '2027-01-01', target: `${i}` }),
  }));

test('a batch whose reply was lost is stored once; equal ids of other gateways are other batches', async () => {
  const { dispatch, redis } = await openBench();
  const { audit, keys } = dispatch;
  const records = recordsOf('acme', 3);
  await audit.append({ replica: 'one', batch: '0', records });
  await audit.append({ replica: 'other', batch: '0', records });
  await audit.append({ replica: 'one', batch: '0', records });
  expect(await redis.xlen(keys.of('audit', 'acme'))).toBe(6);
  await audit.append({ replica: 'one', batch: '1', records });
  expect(await redis.xlen(keys.of('audit', 'acme'))).toBe(9);
});

test('records are bounded for each tenant and for all, and expire', async () => {
  const { dispatch, redis } = await openBench({ auditCap: 500, tenantAuditCap: 200 });
  const { audit, keys } = dispatch;
  await audit.append({ replica: 'one', batch: 'quiet', records: recordsOf('quiet', 1) });
  for (let i = 0; i < 10; i++)
    await audit.append({ replica: 'one', batch: String(i), records: recordsOf('noisy', 100) });
  await audit.append({ replica: 'one', batch: 'unknown', records: recordsOf(null, 1) });
  const [noisy, all] = [keys.of('audit', 'noisy'), keys.one('audit')];
  // Redis trims whole nodes of a stream.
  expect(await redis.xlen(noisy)).toBeLessThan(200 + 150);
  expect(await redis.xlen(all)).toBeLessThan(500 + 150);
  expect(await redis.pttl(noisy)).toBeGreaterThan(0);
  // One tenant's records do not displace another's.
  expect((await audit.read({ tenant: 'quiet', limit: 10 })).records).toHaveLength(1);
});

test('pages go from the newest record to the oldest, each once', async () => {
  const { audit } = (await openBench()).dispatch;
  const seen: unknown[] = [];
  expect(await audit.read({ tenant: 'acme', limit: 2 })).toEqual({ records: [], nextCursor: null });
  const records = Array.from({ length: 5 }, (_, i) => ({
    tenant: 'acme',
    text: JSON.stringify({ at: `2027-01-0${i + 1}`, target: i }),
  }));
  await audit.append({ replica: 'one', batch: '0', records });
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof audit.read>> = await audit.read({
      tenant: 'acme',
      limit: 2,
      cursor,
    });
    seen.push(...page.records.map(({ target }) => target));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual([4, 3, 2, 1, 0]);
  await expect(audit.read({ tenant: 'acme', limit: 2, cursor: 'x' })).rejects.toMatchObject({
    code: 'invalid_request',
  });
});
