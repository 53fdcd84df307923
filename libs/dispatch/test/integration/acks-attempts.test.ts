/** Steps that a disconnected replica cannot confirm do not count as attempts. */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { openRedisGroup } from '../../../runtime/test/redis-group.ts';
import { beginTurn, openBench } from '../fixture.ts';

const tenant = 'default';

test('a turn can begin, be handed back and get a new epoch while no replica confirms', async () => {
  const group = await openRedisGroup({ sentinels: 0 });
  onTestFinished(group.close);
  const bench = await openBench({}, { url: group.url });
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  const { threadId } = thread;
  await bench.dispatch.runs.append({
    tenant,
    threadId,
    request: { input: 'x' },
    idempotencyKey: randomUUID(),
  });

  const strict = await openBench(
    {},
    { url: group.url, acks: 1, tag: bench.dispatch.keys.prefix.slice(1, -2) },
  );
  const me = await strict.alive('wrk_a');
  await expect.poll(() => strict.dispatch.threads.create(tenant, {}).catch(() => undefined)).toBeDefined();
  group.replica().stop();
  for (let n = 0; n < 4; n++) {
    const turn = await beginTurn(strict, threadId, me);
    expect(turn.attempt).toBe(1);
    const hold = await strict.dispatch.lease.raiseEpoch(turn.hold);
    expect(hold?.epoch).toBeGreaterThan(turn.hold.epoch);
    if (hold) await strict.dispatch.lease.handBack({ ...turn, hold });
  }
  const refused = strict.dispatch.threads.create(tenant, {});
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' });
});
