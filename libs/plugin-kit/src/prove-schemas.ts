/**
 * Schemas are compiled first where it may take for ever: Ajv and RE2 run on the author's terms while they compile, and
 * nothing but the end of their thread stops them.
 */
import { Worker } from 'node:worker_threads';
import { parseBounded } from './schema-bounds.ts';
import { textOf } from './text-of.ts';

export interface ProofLimits {
  /** Milliseconds for all schemas of one plugin. Default 2000. */
  timeoutMs?: number;
  /** Megabytes of heap. Default 64. */
  memoryMb?: number;
}

/** What the thread tells: that it listens, the index of the schema it begins, that all are done. */
export type ProofMessage = 'ready' | { compiling: number } | 'done';

/** The thread reads some modules first; only a machine in trouble needs longer, milliseconds. */
const startLimitMs = 30_000;

interface Waiting {
  /** `tool "name": schema` */
  place: string;
  schema: string;
}

/**
 * Compiles the schemas of one plugin's tools in a thread of their own. No problems = they may be compiled here.
 * Never rejects; what is no tool, no schema or breaks its bounds is left to `validatePluginExport`.
 */
export async function proveSchemas(tools: unknown, limits: ProofLimits = {}): Promise<string[]> {
  const waiting = [...boundedSchemasOf(tools)];
  if (waiting.length === 0) return [];
  const { timeoutMs = 2000, memoryMb = 64 } = limits;
  const worker = new Worker(new URL('./prove-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    env: {},
    execArgv: [],
  });
  const failure = await failureOf(worker, { schemas: waiting.map(({ schema }) => schema), timeoutMs });
  await worker.terminate();
  if (!failure) return [];
  const { thrown, at } = failure;
  const isMemory = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY';
  const reason = isMemory
    ? `needs more than ${memoryMb} MB to compile`
    : `did not compile: ${textOf(thrown)}`;
  return [`${waiting[at]?.place}: ${reason}`];
}

/** Undefined when all were compiled; else why not, and at which. */
function failureOf(
  worker: Worker,
  { schemas, timeoutMs }: { schemas: string[]; timeoutMs: number },
): Promise<{ thrown: unknown; at: number } | undefined> {
  return new Promise((resolve) => {
    let at = 0;
    const fail = (thrown: unknown) => resolve({ thrown, at });
    const failAfter = (ms: number) => setTimeout(() => fail(new Error(`took longer than ${ms} ms`)), ms);
    let timer = failAfter(startLimitMs);
    worker.on('message', (message: ProofMessage) => {
      if (message === 'done') resolve(undefined);
      else if (message === 'ready') {
        clearTimeout(timer);
        timer = failAfter(timeoutMs);
        worker.postMessage(schemas);
      } else at = message.compiling;
    });
    worker.once('error', fail);
    worker.once('exit', (code) => {
      clearTimeout(timer);
      fail(new Error(`the thread ended with code ${code}`));
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
