/**
 * A schema whose compilation may take for ever is compiled first in a process of its own: Ajv and RE2 run on the author's
 * terms while they compile, and nothing but the end of their process stops them. A thread would not do: one that runs
 * out of memory can take its process with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { textOf } from '../text-of.ts';
import { parseBounded } from './schema-bounds.ts';
import { type SchemaObject, subschemasOf } from './schema-walk.ts';

export interface ProofLimits {
  /** Seconds of CPU for all schemas of one plugin, with the start of the process: whole ones. Default 4. */
  cpuSeconds?: number;
  /** Megabytes of heap. Default 64. */
  memoryMb?: number;
}

/** What the process tells: that it listens, the index of the schema it begins, that all are done. */
export type ProofMessage = 'ready' | { compiling: number } | 'done';

/** Only a machine in trouble gives a process a few seconds of CPU in a longer time, milliseconds. */
const timeLimitMs = 60_000;
/** Schemas in one document up to which nothing about its compilation is slow. */
const maxSimpleSubschemas = 100;
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
  const { cpuSeconds = 4, memoryMb = 64 } = limits;
  // Its own CPU, not the clock's time: a busy machine makes nobody's schema a bad one.
  const script = `ulimit -S -t ${cpuSeconds} && exec "$0" "$@"`;
  const child = spawn('sh', ['-c', script, process.execPath, `--max-old-space-size=${memoryMb}`, main], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
  });
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const failure = await failureOf(child, { schemas: waiting.map(({ schema }) => schema), cpuSeconds });
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
  { schemas, cpuSeconds }: { schemas: string[]; cpuSeconds: number },
): Promise<{ thrown: unknown; at: number } | undefined> {
  return new Promise((resolve) => {
    let at = 0;
    const fail = (thrown: unknown) => resolve({ thrown, at });
    const tooLong = () => fail(new Error(`took longer than ${timeLimitMs} ms`));
    const timer = setTimeout(tooLong, timeLimitMs);
    child.on('message', (message: ProofMessage) => {
      if (message === 'done') resolve(undefined);
      else if (message === 'ready') child.send(schemas);
      else at = message.compiling;
    });
    child.once('error', fail);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (signal === 'SIGABRT') fail(outOfMemory);
      else if (signal === 'SIGXCPU') fail(new Error(`took more than ${cpuSeconds} s of CPU`));
      else fail(new Error(`its process ended with ${signal ?? code}`));
    });
  });
}

function* boundedSchemasOf(tools: unknown): Generator<Waiting> {
  for (const tool of Array.isArray(tools) ? tools : []) {
    for (const field of ['schema', 'outputSchema']) {
      try {
        const schema = parseBounded(tool[field]);
        if (isSimple(schema)) continue;
        yield { place: `tool "${String(tool.name)}": ${field}`, schema: JSON.stringify(schema) };
      } catch {
        // The validation reads it again and says what is wrong with it.
      }
    }
  }
}

/** Without patterns and references, a few schemas compile in a few milliseconds. */
function isSimple(document: SchemaObject): boolean {
  let count = 0;
  for (const { schema } of subschemasOf(document)) {
    if (++count > maxSimpleSubschemas) return false;
    if (typeof schema !== 'boolean' && slowKeywords.some((keyword) => Object.hasOwn(schema, keyword)))
      return false;
  }
  return true;
}

const slowKeywords = ['pattern', 'patternProperties', '$ref', '$dynamicRef', '$recursiveRef'];
