import { createHash } from 'node:crypto';
import type { AuditRecord } from '@harness/contracts';
import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway } from '../fixture.ts';
import { beginSession } from '../mcp-wire.ts';

test('sessions of the 2025 era and their subscriptions are recorded, without the id', async () => {
  const lines: AuditRecord[] = [];
  const write = (text: string) => {
    for (const line of text.split('\n').filter(Boolean)) lines.push(JSON.parse(line));
  };
  const keys = [keyFor('key-of-tools', { id: 'tools-1', tenant: 'acme', scopes: ['tools'] })];
  const { url } = await openGateway({ keys, auditOutputs: [{ write }] });
  const session = await beginSession(url, { headers: bearer('key-of-tools') });
  const uri = 'x://y';
  for (const method of ['resources/subscribe', 'resources/unsubscribe'])
    await (await session.request(url, method, { params: { uri } })).message();
  await session.end(url);
  await expect.poll(() => lines.length).toBe(4);
  const target = createHash('sha256').update(session.sessionId).digest('hex').slice(0, 16);
  expect(lines.map(({ action, target: to, outcome }) => [action, to, outcome])).toEqual([
    ['initialize', target, 'ok'],
    ['resources/subscribe', uri, 'ok'],
    ['resources/unsubscribe', uri, 'ok'],
    ['DELETE /mcp', target, 'ok'],
  ]);
  for (const line of lines) expect(line).toMatchObject({ tenant: 'acme', keyId: 'tools-1' });
  expect(JSON.stringify(lines)).not.toContain(session.sessionId);
});
