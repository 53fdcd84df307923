import { expect, test } from 'vitest';
import { openBench } from '../fixture.ts';

const owner = { tenant: 'default', keyId: 'key' };
const session = { ...owner, protocolVersion: '2025-11-25', capabilities: {} };

test('using a session keeps its subscriptions alive as long as the session', async () => {
  const { dispatch, redis } = await openBench();
  const { mcpSessions, keys } = dispatch;
  const { sessionId } = await mcpSessions.create(session);
  await mcpSessions.subscribe({ ...session, sessionId }, 'a://b');
  const both = [keys.of('mcp', sessionId), keys.of('mcp', `${sessionId}:sub`)];
  for (const key of both) await redis.pexpire(key, 60_000);
  expect(await mcpSessions.get(sessionId, owner)).toMatchObject({ sessionId });
  for (const key of both) expect(await redis.pttl(key)).toBeGreaterThan(60_000);
  expect(await mcpSessions.isSubscribed(sessionId, 'a://b')).toBe(true);
});

test('a write to a session that has just ended neither revives it nor stays forever', async () => {
  const { dispatch, redis } = await openBench();
  const { mcpSessions, keys } = dispatch;
  const { sessionId } = await mcpSessions.create(session);
  await mcpSessions.end({ ...session, sessionId });
  await mcpSessions.setLogLevel(sessionId, 'error');
  expect(await mcpSessions.get(sessionId, owner)).toBeUndefined();
  expect(await redis.pttl(keys.of('mcp', sessionId))).toBeGreaterThan(0);
});

test('the log of a silent call outlasts the longest call; an ended one is kept for minutes', async () => {
  const { dispatch, redis } = await openBench();
  const { streamLog, keys } = dispatch;
  const key = keys.of('mcplog', 's:1');
  await streamLog.open('s:1', 1);
  expect(await redis.pttl(key)).toBeGreaterThan(600_000);
  await streamLog.append('s:1', { result: {} }, true);
  expect(await redis.pttl(key)).toBeLessThanOrEqual(300_000);
});
