/**
 * Schemas are compiled first where it may take for ever: Ajv and RE2 run on the author's terms while they compile, and
 * nothing but the end of their process stops them. A thread would not do: one that runs out of memory can take its
 * process with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseBounded } from './schema-bounds.ts';
import { textOf } from './text-of.ts';

export interface ProofLimits {
  /** Milliseconds for all schemas of one plugin. Default 2000. */
  timeoutMs?: number;
  /** Megabytes of heap. Default 64. */
  memoryMb?: number;
}

/** What the process tells: that it listens, the index of the schema it begins, that all are done. */
export type ProofMessage = 'ready' | { compiling: number } | 'done';

/** The process reads some modules first; only a machine in trouble needs longer, milliseconds. */
const startLimitMs = 30_000;
/** It ends by itself even if nobody is left to end it, seconds of CPU. */
const cpuLimitSeconds = 90;
const main = fileURLToPath(new URL('./prove-process.ts', import.meta.url));

interface Waiting {
  /** `tool "name": schema` */
  place: string;
  schema: string;
}

/**
 * Compiles the schemas of one plugin's tools in a process of their own. No problems = they may be compiled here.
 * Never rejects; what is no tool, no schema or breaks its bounds is left to `validatePluginExport`.
 */
export async function proveSchemas(tools: unknown, limits: ProofLimits = {}): Promise<string[]> {
  const waiting = [...boundedSchemasOf(tools)];
  if (waiting.length === 0) return [];
  const { timeoutMs = 2000, memoryMb = 64 } = limits;
  const script = `ulimit -t ${cpuLimitSeconds} && exec "$0" "$@"`;
  const child = spawn('sh', ['-c', script, process.execPath, `--max-old-space-size=${memoryMb}`, main], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
  });
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const failure = await failureOf(child, { schemas: waiting.map(({ schema }) => schema), timeoutMs });
  child.kill('SIGKILL');
  await gone;
  if (!failure) return [];
  const { thrown, at } = failure;
  const reason =
    thrown === outOfMemory
      ? `needs more than ${memoryMb} MB to compile`
      : `did not compile: ${textOf(thrown)}`;
  return [`${waiting[at]?.place}: ${reason}`];
}

/** V8 aborts its process when the heap is full. */
const outOfMemory = new Error('out of memory');

/** Undefined when all were compiled; else why not, and at which. */
function failureOf(
  child: ChildProcess,
  { schemas, timeoutMs }: { schemas: string[]; timeoutMs: number },
): Promise<{ thrown: unknown; at: number } | undefined> {
  return new Promise((resolve) => {
    let at = 0;
    const fail = (thrown: unknown) => resolve({ thrown, at });
    const failAfter = (ms: number) => setTimeout(() => fail(new Error(`took longer than ${ms} ms`)), ms);
    let timer = failAfter(startLimitMs);
    child.on('message', (message: ProofMessage) => {
      if (message === 'done') resolve(undefined);
      else if (message === 'ready') {
        clearTimeout(timer);
        timer = failAfter(timeoutMs);
        child.send(schemas);
      } else at = message.compiling;
    });
    child.once('error', fail);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      fail(signal === 'SIGABRT' ? outOfMemory : new Error(`its process ended with ${signal ?? code}`));
    });
  });
}

function* boundedSchemasOf(tools: unknown): Generator<Waiting> {
  for (const tool of Array.isArray(tools) ? tools : []) {
    for (const field of ['schema', 'outputSchema']) {
      try {
        const schema = JSON.stringify(parseBounded(tool[field]));
        yield { place: `tool "${String(tool.name)}": ${field}`, schema };
      } catch {
        // The validation reads it again and says what is wrong with it.
      }
    }
  }
}
