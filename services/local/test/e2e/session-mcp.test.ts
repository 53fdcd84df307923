import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { openRoundRobin } from '../round-robin.ts';

test('a real session uses MCP 2026-07-28, and any gateway behind a load balancer can serve it', async () => {
  const fleet = await openFleet({ workers: 0 });
  const gateways = [fleet.gateway, await fleet.addGateway()];
  const balancer = await openRoundRobin(() => gateways.map(({ ready }) => ready.url));
  onTestFinished(balancer.close);
  await fleet.addWorker({ HARNESS_GATEWAY_URL: balancer.url });

  const call = 'call: time__current_time {}';
  const threadId = await fleet.thread();
  const run = await fleet.ask(threadId, [call, call, call, 'say: done'].join('\n'));
  expect(run).toMatchObject({ status: 'success', result: 'done' });
  const events = await fleet.watch(
    `/v1/threads/${threadId}/events`,
    (event) => event.type === 'stream.replayed',
  );
  const results = events.filter(({ type }) => type === 'agent.tool_result');
  expect(results.map(({ data }) => data.isError)).toEqual([false, false, false]);

  const versions = balancer.seen
    .filter((body) => body.includes('"tools/call"'))
    .map((body) => JSON.parse(body).params._meta['io.modelcontextprotocol/protocolVersion']);
  expect(versions).toEqual(['2026-07-28', '2026-07-28', '2026-07-28']);
});
