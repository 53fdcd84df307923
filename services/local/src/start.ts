/** `npm start`: the whole fleet on one machine, until Ctrl-C. */
import { join } from 'node:path';
import { runMain } from '@harness/runtime';
import { loadStartConfig } from './config.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { inventoryOf } from './inventory.ts';
import { lockFolder } from './lock.ts';
import { checkPort } from './port.ts';

/** Pause before a process that has ended is restarted, ms. It doubles each time until a process has run for a minute. */
const restartMs = 200;
const maxRestartMs = 5_000;
const settledMs = 60_000;

/** The default of `npm run chat`. */
const defaultUrl = 'http://127.0.0.1:8080';

/** Two signals within this time are the same Ctrl-C, delivered twice, ms. */
const samePressMs = 500;
/** Interval of the check whether npm has ended without a signal, ms. */
const parentCheckMs = 1_000;

runMain(async () => {
  const config = loadStartConfig();
  const folder = join(process.cwd(), '.harness');
  const lock = lockFolder(folder);
  process.once('exit', lock.release);
  await checkPort(config.HOST, config.PORT);

  const interrupted = onInterrupt();
  const fleet = await startFleet({
    redisDir: join(folder, 'redis'),
    filesDir: join(folder, 'files'),
    redisUrl: config.REDIS_URL,
    host: config.HOST,
    port: config.PORT,
    workers: config.workers,
    env: config.env,
    scripted: !config.modelConfigured,
    visible: true,
  });
  process.send?.({ url: fleet.url, workers: fleet.workers.map((worker) => worker.process.pid) });
  console.log(welcome(fleet, config.HARNESS_API_KEY !== undefined));

  const stopping = { now: false };
  const over = Promise.race([interrupted.then(() => 'interrupt'), redisEnds(fleet)]);
  keepAll(fleet, stopping);
  const why = await over;
  stopping.now = true;
  console.log(
    why === 'interrupt'
      ? '\nStopping: workers finish their turns first; press Ctrl-C again to stop at once.'
      : `\n${why}`,
  );
  await fleet.close();
  process.exit(why === 'interrupt' ? 0 : 1);
});

/**
 * Resolves at the first Ctrl-C (or SIGTERM, or when the terminal closes or npm ends). A second Ctrl-C ends this process and
 * its children at once. npm forwards signals to its child, usually through a shell. If the shell has replaced itself by
 * this process, one Ctrl-C arrives twice; if not, SIGTERM ends the shell and this process gets no signal.
 */
function onInterrupt(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const ask = (again: boolean) => {
      const now = performance.now();
      if (askedAt === undefined) askedAt = now;
      else if (again && now - askedAt > samePressMs) process.exit(1);
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => ask(signal === 'SIGINT'));
    }
    setInterval(() => process.ppid !== parent && ask(false), parentCheckMs).unref();
    // A closed terminal sends a signal; printing to it must not crash.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  });
}

/** Resolves with a message when the embedded Redis ends, because nothing works without it. */
function redisEnds({ redis }: Fleet): Promise<string> {
  return new Promise((resolve) =>
    redis?.process.once('exit', () => resolve('Redis has ended, so everything else is stopped.')),
  );
}

/** Restarts a gateway, a worker or scripted-model that ends. */
function keepAll(fleet: Fleet, stopping: { now: boolean }): void {
  const keep = (
    name: string,
    part: { exited: Promise<void> },
    start: () => Promise<{ exited: Promise<void>; ready: { url?: string | undefined } }>,
  ) => {
    const watch = (exited: Promise<void>, delayMs: number) => {
      const since = performance.now();
      void exited.then(async () => {
        if (stopping.now) return;
        const waitMs = performance.now() - since > settledMs ? restartMs : delayMs;
        console.error(`The ${name} has ended; it restarts in ${waitMs / 1000} s.`);
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        if (stopping.now) return;
        const next = await start().catch((error: Error) => {
          console.error(error.message);
          return { exited: Promise.resolve(), ready: undefined };
        });
        if (next.ready) console.error(`The ${name} is back${next.ready.url ? `: ${next.ready.url}` : ''}.`);
        watch(next.exited, Math.min(waitMs * 2, maxRestartMs));
      });
    };
    watch(part.exited, restartMs);
  };
  // At the same address, which sessions and callers use.
  const { gateway, model } = fleet;
  keep('gateway', gateway, () => fleet.addGateway(portOf(gateway.ready)));
  if (model) keep('scripted-model', model, () => fleet.addModel(portOf(model.ready)));
  for (const worker of fleet.workers) keep('worker', worker, () => fleet.addWorker());
}

const portOf = ({ url }: { url: string }) => Number(new URL(url).port);

function welcome({ url, model, workers, gateway }: Fleet, hasKey: boolean): string {
  const auth = hasKey ? ` -H "Authorization: Bearer $HARNESS_API_KEY"` : '';
  const thread = 'hello';
  const post = `curl -s -X POST${auth} -H 'Content-Type: application/json'`;
  const message = model ? 'call: time__current_time {}' : 'What time is it?';
  return `
harness is ready at ${url} with ${workers.length === 1 ? 'one worker' : `${workers.length} workers`}.

${
  model
    ? `  Model     scripted-model: NOT a model, it executes the lines you send. For a real one: ANTHROPIC_API_KEY=… npm start`
    : '  Model     the one your environment configures'
}
  Console   ${url}/console   what it does, in a browser${hasKey ? '; sign in with the key' : ''}
  REST      ${url}/v1      described by ${url}/openapi.yaml
  MCP       ${url}/mcp     e.g. claude mcp add --transport http harness ${url}/mcp
${inventoryOf(
  gateway.ready,
  workers.map(({ ready }) => ready),
)}

A first conversation:

  ${post} ${url}/v1/threads -d '{"threadId":"${thread}","ifExists":"doNothing"}'
  ${post} ${url}/v1/threads/${thread}/runs/wait -d '{"input":"${message}"}'

The same in the console with “New thread”, or in a terminal, from another shell:

  ${hasKey ? 'HARNESS_API_KEY=… ' : ''}${url === defaultUrl ? '' : `HARNESS_URL=${url} `}npm run chat

Ctrl-C stops everything.
`;
}
