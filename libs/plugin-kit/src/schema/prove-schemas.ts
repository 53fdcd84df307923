/**
 * A schema whose compilation may never end is compiled first in a separate process: the author's schema decides how long
 * Ajv and RE2 compile, and only ending their process stops them. A worker thread is not enough, because one that runs
 * out of memory can end the whole process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { textOf } from '../text-of.ts';
import { parseBounded } from './schema-bounds.ts';
import { type SchemaObject, subschemasOf } from './schema-walk.ts';

/** Limits of the separate process. */
export interface ProofLimits {
  /** Whole seconds of CPU for all schemas of one plugin, including the start of the process. Default 4. */
  cpuSeconds?: number;
  /** Megabytes of heap. Default 64. */
  memoryMb?: number;
}

/** Messages of the process: it listens; it starts to compile the schema with this index; all are compiled. */
export type ProofMessage = 'ready' | { compiling: number } | 'done';

/** Fallback limit of wall-clock time, for an overloaded machine. */
const timeLimitMs = 60_000;
/** A document with at most this many subschemas, without patterns and references, compiles fast. */
const maxSimpleSubschemas = 100;
const main = fileURLToPath(new URL('./prove-process.ts', import.meta.url));

interface Waiting {
  /** `tool "name": schema` */
  place: string;
  schema: string;
}

/**
 * Compiles the schemas of one plugin's tools in a separate process and returns the problems; none = they may be compiled
 * in this process. Never rejects. `validatePluginExport` reports values that are not tools or schemas, or exceed a bound.
 */
export async function proveSchemas(tools: unknown, limits: ProofLimits = {}): Promise<string[]> {
  const waiting = [...boundedSchemasOf(tools)];
  if (waiting.length === 0) return [];
  const { cpuSeconds = 4, memoryMb = 64 } = limits;
  // Limits CPU time, not wall-clock time: a busy machine must not make a good schema fail.
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

/** V8 aborts the process when the heap is full. */
const outOfMemory = new Error('out of memory');

/** Undefined when all schemas were compiled; otherwise the reason, and the index of the schema. */
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
      else fail(new Error(`the compiling process ended with ${signal ?? code}`));
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
        // The validation reads it again and reports the problem.
      }
    }
  }
}

/** True for a document that compiles in a few milliseconds: few subschemas, no patterns, no references. */
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
