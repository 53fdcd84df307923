import { expect, test } from 'vitest';
import { defaultThreadIdOf, derivedThreadId, newRunId, runUuidOf, threadIdPattern } from './ids.ts';

test('a derived thread id is the same for the same parts, and differs for other parts or another secret', () => {
  const ids = [
    derivedThreadId('secret', 'invoke', 'acme', 'a', 'b'),
    derivedThreadId('secret', 'invoke', 'acme', 'ab'),
    derivedThreadId('secret', 'invoke', 'umbrella', 'a', 'b'),
    derivedThreadId('another', 'invoke', 'acme', 'a', 'b'),
    defaultThreadIdOf('secret', { tenant: 'acme', keyId: 'a' }),
    defaultThreadIdOf('secret', { tenant: 'umbrella', keyId: 'a' }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(new RegExp(threadIdPattern));
  expect(derivedThreadId('secret', 'invoke', 'acme', 'a', 'b')).toBe(ids[0]);
});

test('a run id contains its UUID', () => {
  const runId = newRunId();
  const uuid = runUuidOf(runId);
  expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  expect(`run_${uuid.replaceAll('-', '')}`).toBe(runId);
});
