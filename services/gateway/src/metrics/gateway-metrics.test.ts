import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createGatewayMetrics } from './gateway-metrics.ts';

test('limits the number of tool labels', async () => {
  const registry = new Registry();
  const metrics = createGatewayMetrics(registry);
  for (let n = 0; n < 500; n++)
    metrics.toolCalled({ tool: `skill__${n}`, transport: 'mcp', isError: false, seconds: 0.01 });
  const text = await registry.metrics();
  expect(text.match(/^harness_tool_call_seconds_count/gm)).toHaveLength(201);
  expect(text).toContain('harness_tool_call_seconds_count{tool="other",transport="mcp",outcome="ok"} 300\n');
});
