import { expect, test } from 'vitest';
import { openBench } from '../fixture.ts';

const [first, second, third] = [
  'the first token secret',
  'the second token secret',
  'the third token secret',
];

test('a rotation changes the secrets that sign and verify, never the naming secret', async () => {
  const { dispatch, redis } = await openBench();
  const read = dispatch.tokenSecrets;
  const naming = first;
  expect(await read([first])).toEqual({ current: first, accepted: [first], naming });
  expect(await read([first, second])).toEqual({ current: first, accepted: [first, second], naming });
  expect(await read([second, first])).toEqual({ current: second, accepted: [second, first], naming });
  expect(await read([second])).toEqual({ current: second, accepted: [second], naming });
  await read([third, second]);
  expect(await read([third])).toEqual({ current: third, accepted: [third], naming });
  const stored = await redis.hgetall(dispatch.keys.one('naming'));
  expect(Object.keys(stored)).toHaveLength(3);
  for (const secret of [first, second, third]) {
    expect(JSON.stringify(stored)).not.toContain(secret);
    expect(JSON.stringify(stored)).not.toContain(Buffer.from(secret).toString('base64url'));
  }
});

test('without a configured secret one is made once; the first configured one keeps the names', async () => {
  const { dispatch } = await openBench();
  const [one, other] = await Promise.all([dispatch.tokenSecrets([]), dispatch.tokenSecrets([])]);
  expect(one).toEqual(other);
  expect(one.naming).toBe(one.current);
  const configured = await dispatch.tokenSecrets([first]);
  expect(configured).toEqual({ current: first, accepted: [first], naming: one.naming });
});

test('processes that start together agree', async () => {
  const { dispatch } = await openBench();
  const all = await Promise.all(Array.from({ length: 10 }, () => dispatch.tokenSecrets([second, first])));
  for (const secrets of all) expect(secrets.naming).toBe(first);
});

test('a secret that replaced the former one without a rotation gives new default threads', async () => {
  const { dispatch } = await openBench();
  await dispatch.tokenSecrets([first]);
  expect((await dispatch.tokenSecrets([second])).naming).toBe(second);
  expect((await dispatch.tokenSecrets([second])).naming).toBe(second);
});
