import { once } from 'node:events';
import { definePlugin } from '@harness/plugin-kit';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, openGateway } from '../fixture.ts';
import { openRun } from '../open-run.ts';

/** A gateway with a tool that ends only by its signal, and the credential of a session on it. */
async function openSlowGateway() {
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const slow = definePlugin({
    name: 'slow',
    version: '1',
    register: () => undefined,
    tools: [
      {
        name: 'wait',
        description: 'Waits until it is cancelled.',
        schema: {},
        async handler(_ctx, _input, { signal }) {
          begun.resolve();
          await once(signal, 'abort');
          aborted.resolve();
          throw signal.reason;
        },
      },
    ],
  });
  const gateway = await openGateway({ plugins: [slow] });
  const { tokenOf } = await openRun(gateway);
  const requestInit = { headers: bearer(await tokenOf()) };
  const promises = { begun: begun.promise, aborted: aborted.promise };
  return { gateway, url: new URL('/mcp', gateway.url), requestInit, ...promises };
}

type SlowGateway = Awaited<ReturnType<typeof openSlowGateway>>;
const name = 'slow__wait';

async function callLegacy({ url, requestInit }: SlowGateway, signal: AbortSignal) {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as Transport);
  const call = client.callTool({ name, arguments: {} }, CallToolResultSchema, { signal });
  return { client, call };
}

async function callModern({ url, requestInit }: SlowGateway, signal: AbortSignal) {
  const client = new ModernClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  await client.connect(new ModernTransport(url, { requestInit }));
  return { client, call: client.callTool({ name, arguments: {} }, { signal }) };
}

test.each([
  ['2025', callLegacy],
  ['2026', callModern],
])('a session of the %s era that cancels its call aborts the tool', async (_era, begin) => {
  const gateway = await openSlowGateway();
  const caller = new AbortController();
  const { call } = await begin(gateway, caller.signal);
  const ended = expect(call).rejects.toThrow();
  await gateway.begun;
  caller.abort();
  await gateway.aborted;
  await ended;
});

test('a 2026 client that disconnects aborts its tool', async () => {
  const gateway = await openSlowGateway();
  const { client, call } = await callModern(gateway, new AbortController().signal);
  const ended = expect(call).rejects.toThrow();
  await gateway.begun;
  await client.close();
  await gateway.aborted;
  await ended;
});

test('a REST caller that disconnects aborts its tool', async () => {
  const { gateway, begun, aborted } = await openSlowGateway();
  const caller = new AbortController();
  const call = fetch(`${gateway.url}/v1/tools/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    signal: caller.signal,
  });
  const ended = expect(call).rejects.toThrow();
  await begun;
  caller.abort();
  await aborted;
  await ended;
});
