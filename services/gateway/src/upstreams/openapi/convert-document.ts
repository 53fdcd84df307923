/**
 * Reads a document and makes its operations tools, in a process of its own: the document's author decides how much CPU and memory that
 * takes. A worker thread is not enough: six of nine ways to fill its memory end the gateway, whatever its limits are.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Operation } from './operations.ts';

/** What is used of a document. Plain JSON. */
export interface ConvertedDocument {
  title: string | undefined;
  version: string | undefined;
  description: string | undefined;
  /** The address of its first server, as written. */
  server: string | undefined;
  operations: Operation[];
  /** What is left out, and why. */
  problems: string[];
}

/** What the process is sent. */
export interface ConversionRequest {
  text: string;
  /** The operations that are wanted; see `OpenApiUpstream`. */
  patterns: readonly string[] | undefined;
}
/** What it answers. */
export type ConversionMessage = { converted: ConvertedDocument } | { refused: string };

/** Limits of the process. */
export interface ConversionLimits {
  /** Whole seconds of CPU, its start included. */
  cpuSeconds: number;
  /** Megabytes of heap. */
  memoryMb: number;
}

const usualLimits: ConversionLimits = { cpuSeconds: 10, memoryMb: 768 };
/** For an overloaded machine, ms. */
const timeLimitMs = 60_000;
const main = fileURLToPath(new URL('./convert-process.ts', import.meta.url));

/** Rejects with what is wrong with the document, with the limit that it exceeds, and with the reason of the signal. */
export async function convertDocument(
  request: ConversionRequest,
  signal: AbortSignal,
  limits: ConversionLimits = usualLimits,
): Promise<ConvertedDocument> {
  const { cpuSeconds, memoryMb } = limits;
  const script = `ulimit -S -t ${cpuSeconds} && exec "$0" "$@"`;
  const child = spawn('sh', ['-c', script, process.execPath, `--max-old-space-size=${memoryMb}`, main], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]),
    killSignal: 'SIGKILL',
  });
  child.send(request, () => undefined); // a process that has ended says why
  const message = await messageOf(child, limits);
  child.kill('SIGKILL');
  if ('refused' in message) throw new Error(message.refused);
  return message.converted;
}

/** The answer of the process; rejects when it ends without one. */
function messageOf(child: ChildProcess, limits: ConversionLimits): Promise<ConversionMessage> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', (error) => reject(error.cause ?? error));
    child.once('close', (code, signal) =>
      reject(new Error(`the document ${reasonOf(signal ?? code, limits)}`)),
    );
  });
}

function reasonOf(ended: NodeJS.Signals | number | null, { cpuSeconds, memoryMb }: ConversionLimits): string {
  if (ended === 'SIGXCPU') return `took more than ${cpuSeconds} s of CPU to read`;
  // V8 aborts the process when the heap is full.
  if (ended === 'SIGABRT' || ended === 'SIGTRAP') return `needs more than ${memoryMb} MB to be read`;
  return `was not read: its process ended with ${ended}`;
}
