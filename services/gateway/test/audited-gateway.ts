/** A gateway whose audit is read by a test. */
import type { AuditRecord } from '@harness/contracts';
import { definePlugin } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { expect } from 'vitest';
import type { ApiKey } from '../src/keys/api-keys.ts';
import { bearer, type GatewayOptions, keyFor, openGateway } from './fixture.ts';

const plugin = definePlugin({
  name: 'p',
  version: '1',
  register: () => undefined,
  tools: [
    { name: 'ok', description: 'x', schema: {}, handler: () => 'a secret answer' },
    { name: 'fails', description: 'x', schema: {}, handler: () => ({ content: [], isError: true }) },
    {
      name: 'throws',
      description: 'x',
      schema: { type: 'object', properties: { n: { type: 'number' } } },
      handler: () => {
        throw new Error('boom');
      },
    },
    {
      name: 'job',
      description: 'x',
      schema: {},
      task: 'optional',
      handler: (_ctx, _input, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve('ended'))),
    },
  ],
});

/** All that a tenant may do. */
export const ofTenant: ApiKey['scopes'] = ['threads', 'tools', 'tasks', 'bus', 'admin'];
/** Keys of two tenants, of the fleet, and one for tools only. */
export const keys = [
  keyFor('key-of-acme', { id: 'acme-1', tenant: 'acme', scopes: ofTenant }),
  keyFor('key-of-umbrella', { id: 'umbrella-1', tenant: 'umbrella', scopes: ofTenant }),
  keyFor('key-of-the-fleet', { id: 'fleet-1', scopes: ['fleet'] }),
  keyFor('key-of-tools', { id: 'tools-1', tenant: 'acme', scopes: ['tools'] }),
];

/** A gateway, and the lines of its audit. */
export async function openAudited(options: GatewayOptions = {}) {
  const lines: (AuditRecord & Record<string, unknown>)[] = [];
  const write = (text: string) => {
    for (const line of text.split('\n').filter(Boolean)) lines.push(JSON.parse(line));
  };
  const gateway = await openGateway({
    plugins: [...builtInPlugins, plugin],
    keys,
    auditOutputs: [{ write }],
    ...options,
  });
  const as = (key: string) => (method: string, path: string, body?: unknown) =>
    gateway.call(method, path, { headers: bearer(key), ...(body === undefined ? {} : { body }) });
  /** The first records, as soon as there are that many. */
  const first = async (count: number) => {
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(count);
    return lines;
  };
  return { ...gateway, lines, as, first };
}

/** What a record says besides who and when. */
export const partsOf = ({ action, target, outcome }: AuditRecord) => [action, target, outcome];
