/** What lies on Redis's disk: no credential, and no secret of the gateway. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, keyFor, openGateway, probe, tokenSecret } from '../fixture.ts';
import { beginSession } from '../mcp-wire.ts';
import { openRun } from '../open-run.ts';

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

test('neither Redis’s files nor the log at trace have keys, thread tokens or the token secret', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'harness-at-rest-'));
  const redis = await startEmbeddedRedis(folder);
  onTestFinished(async () => {
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });
  const lines: string[] = [];
  const logger = createLogger('gateway', 'trace', {
    destination: { write: (line) => void lines.push(line) },
  });
  const key = 'a-key-that-nobody-may-read';
  const gateway = await openGateway({
    redisUrl: redis.url,
    keys: [keyFor(key, { id: 'one' })],
    plugins: [probe],
    logger,
  });
  const headers = bearer(key);
  const { threadId } = (await gateway.call('POST', '/v1/threads', { headers, body: {} })).body;
  await gateway.call('POST', `/v1/threads/${threadId}/runs`, { headers, body: { input: 'hello' } });
  await gateway.call('POST', '/v1/tools/probe__whoami', { headers, body: { threadId } });
  const made = await gateway.call('POST', '/v1/keys', { headers, body: { id: 'made', scopes: ['threads'] } });
  expect(made.status).toBe(201);
  const ticket = await gateway.call('POST', '/v1/stream-tickets', {
    headers,
    body: { path: `/v1/threads/${threadId}/events` },
  });
  const session = await beginSession(gateway.url, { headers });
  await session.call(gateway.url, 'probe__whoami');
  const { tokenOf } = await openRun(gateway, redis.url);
  const token = await tokenOf();
  await gateway.call('POST', '/mcp', {
    headers: { ...bearer(token), accept: 'application/json, text/event-stream' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'probe__whoami' } },
  });
  const secrets = [key, tokenSecret, token, made.body.key, ticket.body.ticket].filter(Boolean) as string[];
  expect(secrets.length).toBeGreaterThanOrEqual(4);
  const stored = await Promise.all(
    (await filesIn(folder)).filter((file) => !file.endsWith('.sock')).map((file) => readFile(file, 'latin1')),
  );
  expect(stored.join('')).toContain(threadId);
  for (const secret of secrets) {
    expect(stored.join('').includes(secret)).toBe(false);
    expect(lines.join('').includes(secret)).toBe(false);
  }
});
