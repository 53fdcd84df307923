import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

/** A model that refuses every request, and repeats in its error what it was sent as a key. */
async function openRefusingModel(keyOf: (headers: Record<string, unknown>) => string): Promise<string> {
  const server = createServer((request, response) => {
    const error = { type: 'invalid_request_error', message: `bad key: ${keyOf(request.headers)}` };
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ type: 'error', error }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('the result of a failed turn has no secret: neither the run, nor its events, nor the parent of its task', async () => {
  const fleet = await openFleet({ workers: 0 });
  const secret = 'a key that has no known shape';
  const url = await openRefusingModel((headers) => String(headers['x-api-key']));
  await fleet.addWorker({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: secret });
  const threadId = await fleet.thread();
  const run = await fleet.ask(threadId, 'say: hello');
  expect(run.status).toBe('error');
  expect(run.error?.message).toContain('bad key: [secret]');
  const { taskId, threadId: child } = await fleet.post<{ taskId: string; threadId: string }>('/v1/tasks', {
    prompt: 'say: hello',
    parentThreadId: threadId,
  });
  await expect.poll(() => fleet.task(taskId)).toMatchObject({ status: 'failed' });
  const events = async (id: string) =>
    (await fetch(`${fleet.url}/v1/threads/${id}/events`, { headers: { accept: 'application/json' } })).text();
  expect(await events(threadId)).toContain('bad key');
  const stored = [await fleet.task(taskId), await events(threadId), await events(child)];
  expect(JSON.stringify(stored)).not.toContain(secret);
});
