/** `npm run bench -- traces`: what tracing costs a tools/call: off, at 10 % sampling, and at 100 %. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { figureOf, textOf } from '../figures.ts';
import { startOurs } from './contenders.ts';
import { fire, pinTo } from './load.ts';
import type { McpOptions } from './measure-mcp.ts';

/** Seconds of warm-up: one call in ten is traced, and until V8 has optimized that path, its compiler is most of the cost. */
const warmUpSeconds = 20;

/** A collector that reads and forgets. */
async function openCollector() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200).end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** Measures and prints the section. */
export async function reportTraces({ redisUrl, rounds, seconds }: McpOptions): Promise<void> {
  pinTo(1, process.pid);
  const { url, server } = await openCollector();
  const at = (ratio: string) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: ratio,
  });
  const kinds = { off: {}, 'sampling 10 %': at('0.1'), 'sampling 100 %': at('1') };
  const cpuUs: Record<string, number[]> = { off: [], 'sampling 10 %': [], 'sampling 100 %': [] };
  try {
    for (let round = 0; round < rounds; round++)
      for (const [kind, env] of Object.entries(kinds)) {
        const gateway = await startOurs(redisUrl, { env });
        try {
          pinTo(0, gateway.pid);
          const load = { method: 'tools/call' as const, connections: 16 };
          await fire(gateway, { ...load, seconds: warmUpSeconds });
          const { cpuMs } = await fire(gateway, { ...load, seconds });
          cpuUs[kind]?.push(1000 * cpuMs);
        } finally {
          await gateway.end();
        }
      }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  console.log(`tools/call, concurrency 16, ${rounds} rounds of ${seconds} s: CPU of the gateway a call`);
  const off = cpuUs.off ?? [];
  for (const [kind, list] of Object.entries(cpuUs)) {
    const extra = list.map((us, round) => us - (off[round] ?? Number.NaN));
    const more = kind === 'off' ? '' : `  more than off: ${textOf(figureOf(extra), 'us')}`;
    console.log(`  ${kind.padEnd(16)} ${textOf(figureOf(list), 'us')}${more}`);
  }
}
