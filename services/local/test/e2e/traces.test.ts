import { expect, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';
import { openCollector, orphansIn, treeOf } from '../otlp-collector.ts';

test('a delegated, reviewed, killed and resumed run is one trace without an orphan', async () => {
  const collector = await openCollector();
  const fleet = await openFleet({
    workers: 2,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, HARNESS_WORKER_TTL_MS: '2000' },
  });
  const parent = await fleet.thread();
  const work = 'call: time__current_time {}\\nsleep: 3000\\nsay: the report\\nreject: 1';
  const traceId = 'a'.repeat(32);
  const caller = `00-${traceId}-${'b'.repeat(16)}-01`;

  let notified = '';
  const watching = fleet.watch(`/v1/threads/${parent}/events?follow=true&children=true`, (event) => {
    if (event.type === 'run.queued' && event.data.kind === 'notification')
      notified = String(event.data.runId);
    return event.type === 'run.completed' && event.data.runId === notified;
  });
  await fleet.send(parent, `delegate: ${work}\nsay: I have delegated it`, { traceparent: caller });

  // The worker of the child dies in the middle of the child's first turn, after its tool call.
  const child = async () =>
    (await fleet.get<{ tasks: { threadId: string }[] }>('/v1/tasks')).tasks[0]?.threadId ?? '';
  await expect.poll(child).not.toBe('');
  const threadId = await child();
  await fleet.watch(`/v1/threads/${threadId}/events?follow=true`, ({ type }) => type === 'agent.tool_result');
  const { workerId } = await fleet.get<{ workerId: string }>(`/v1/threads/${threadId}/session`);
  const owner = fleet.workers.find((worker) => worker.ready.workerId === workerId);
  owner?.process.kill('SIGKILL');
  await watching;

  const ofTrace = () => collector.spans().filter((span) => span.traceId === traceId);
  const runsEnded = () =>
    ofTrace().filter(({ attributes }) => attributes['harness.run.status'] === 'success');
  await expect.poll(() => runsEnded().length).toBe(6);
  await expect
    .poll(() => orphansIn(ofTrace()).map(({ name }) => name))
    .toEqual(['POST /v1/threads/:threadId/runs']);

  const spans = ofTrace();
  const tree = treeOf(spans, 'b'.repeat(16));
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  const depthOf = (line: string) => line.search(/\S/) / 2;
  const chainTo = (name: string) => {
    const chain: string[] = [];
    let depth = Number.POSITIVE_INFINITY;
    for (const line of tree.slice(0, tree.findIndex((one) => one.trim() === name) + 1).toReversed()) {
      if (depthOf(line) >= depth) continue;
      depth = depthOf(line);
      chain.unshift(line.trim());
    }
    return chain;
  };
  expect(chainTo('plugin time')).toEqual([
    'POST /v1/threads/:threadId/runs',
    'invoke_agent',
    'turn',
    'tools/call delegation__delegate',
    'plugin delegation',
    'invoke_agent',
    'turn !',
    'tools/call time__current_time',
    'plugin time',
  ]);

  const died = spans.filter(({ attributes }) => attributes['error.type'] === 'process_died');
  expect(died.map(({ name }) => name)).toEqual(['turn']);
  expect(spans.filter(({ events }) => events.includes('failover')).map(({ name }) => name)).toEqual(['turn']);
  const chat = spans.find(({ name }) => name.startsWith('chat '));
  expect(chat?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.usage.output_tokens': expect.anything(),
  });
  expect(spans.find(({ name }) => name.startsWith('tools/call'))).toMatchObject({
    service: 'harness-gateway',
    attributes: {
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': expect.stringMatching(/^20/),
      'gen_ai.operation.name': 'execute_tool',
    },
  });
  // Content is in spans only where the operator asks for it.
  expect(JSON.stringify(spans)).not.toContain('the report');

  const promises = await fleet.get<object>('/v1/promises');
  expect(promises).toMatchObject({
    failOvers: { count: 1 },
    checked: { threads: 2, gaps: 0, doubles: 0, reorderings: 0 },
  });
});

test('a tool call over MCP joins the trace in its _meta, and links its HTTP request; content only where it is asked for', async () => {
  const collector = await openCollector();
  const fleet = await openFleet({
    workers: 0,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    },
  });
  const [ofMeta, ofHttp] = ['c', 'd'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
  const call = async (_meta: object, headers: Record<string, string>) => {
    const response = await fetch(`${fleet.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'time__current_time',
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'time__current_time',
          arguments: { timezone: 'Asia/Tokyo' },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
            ..._meta,
          },
        },
      }),
    });
    expect(await response.text()).toContain('GMT+9');
  };
  await call({ traceparent: ofMeta }, { traceparent: ofHttp ?? '' });
  await call({}, { traceparent: ofHttp ?? '' });
  const calls = () => collector.spans().filter(({ name }) => name === 'tools/call time__current_time');
  await expect.poll(() => calls().length).toBe(2);
  const [first, second] = calls();
  expect(first).toMatchObject({
    traceId: 'c'.repeat(32),
    parent: 'c'.repeat(16),
    links: ['d'.repeat(16)],
    attributes: { 'harness.transport': 'mcp', 'gen_ai.tool.call.arguments': '{"timezone":"Asia/Tokyo"}' },
  });
  expect(second).toMatchObject({ traceId: 'd'.repeat(32), parent: 'd'.repeat(16), links: [] });
});
