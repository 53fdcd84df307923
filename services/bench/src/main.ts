/** `npm run bench`: each figure in several rounds, beside its peer or the raw limit in the same round. */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runMain, startEmbeddedRedis } from '@harness/runtime';
import { measureAccept } from './accept-rate.ts';
import { measureBus } from './bus-overhead.ts';
import { searchPath } from './config.ts';
import { figureOf, ratioOf, textOf } from './figures.ts';

const rounds = 5;
const gatewayMain = fileURLToPath(new URL('../../gateway/src/main.ts', import.meta.url));

runMain(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-bench-'));
  const redis = await startEmbeddedRedis(dir);
  console.log(
    `${rounds} rounds on ${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, appendfsync always`,
  );
  console.log('median [best..worst round]\n');
  try {
    const bus = await inRounds(() => measureBus(redis.url));
    const of = (name: keyof (typeof bus)[number]) => bus.map((round) => round[name]);
    console.log('Bus overhead: append -> committed, a turn that takes no time, 3 workers');
    console.log(`  p50                     ${textOf(figureOf(of('busP50Ms')), 'ms')}`);
    console.log(`  p99                     ${textOf(figureOf(of('busP99Ms')), 'ms')}`);
    console.log(`  peer BullMQ, p50        ${textOf(figureOf(of('bullP50Ms')), 'ms')}    add -> processed`);
    console.log(`  peer BullMQ, p99        ${textOf(figureOf(of('bullP99Ms')), 'ms')}`);
    console.log(`  ratio to BullMQ, p50    ${textOf(ratioOf(of('busP50Ms'), of('bullP50Ms')), '×')}`);
    console.log(`  ratio to one PING, p50  ${textOf(ratioOf(of('busP50Ms'), of('pingP50Ms')), '×')}\n`);

    const accept = await inRounds(() => measureAccept(redis.url, gatewayMain, searchPath));
    const at = (name: keyof (typeof accept)[number]) => accept.map((round) => round[name]);
    console.log('Messages accepted by one gateway, 16 connections, durable');
    console.log(`  rate                    ${textOf(figureOf(at('acceptedPerSecond')), '/s')}`);
    console.log(
      `  p50, p99                ${textOf(figureOf(at('p50Ms')), 'ms')}, ${textOf(figureOf(at('p99Ms')), 'ms')}`,
    );
    console.log(`  raw Fastify route       ${textOf(figureOf(at('rawPerSecond')), '/s')}`);
    console.log(
      `  share of the raw limit  ${textOf(ratioOf(at('acceptedPerSecond'), at('rawPerSecond')), '×')}`,
    );
  } finally {
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  }
  process.exit(0);
});

async function inRounds<Round>(measure: () => Promise<Round>): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measure());
  return measured;
}
