/**
 * Fuzzes every operation of openapi.yaml with requests made from its schemas, many of them invalid on
 * purpose. Each response must have a documented status and shape.
 */
import { Agent, type IncomingMessage, request as send } from 'node:http';
import fc from 'fast-check';
import { parse } from 'yaml';
import { type Answer, createJudge } from './judge.ts';
import { createKnownIds } from './known-ids.ts';
import { type FuzzRequest, operationsOf, requestsOf } from './requests.ts';
import type { Making, Schema } from './values.ts';

/** What is fuzzed, and how. */
export interface FuzzOptions {
  /** Address of the gateway. */
  url: string;
  /** Text of openapi.yaml. */
  document: string;
  requests: number;
  seed?: number | undefined;
  /** Authorization headers to send, some of them invalid. */
  credentials: string[];
  /** Values for fields and parameters of these names, from the start. */
  known?: Record<string, string[]>;
}

/** What was sent and received. */
export interface FuzzReport {
  requests: number;
  /** Number of responses by operation and status. */
  statuses: Record<string, Record<string, number>>;
}

/** Longest wait for a response, and time that a stream is read, ms. */
const patienceMs = 5_000;
const streamMs = 40;
/** A request that waits for something to happen is aborted after this time, ms. */
const waiting = new Set(['busPollTask', 'createRunAndWait']);
const waitingMs = 40;
/** Throws with the smallest request whose response was not as documented. */
export async function fuzzOpenApi(options: FuzzOptions): Promise<FuzzReport> {
  const spec = parse(options.document);
  const operations = operationsOf(spec);
  const judge = createJudge(spec, operations);
  const known = createKnownIds(options.known ?? {});
  const statuses: FuzzReport['statuses'] = {};
  const resolve = (ref: string) =>
    ref
      .slice(2)
      .split('/')
      .reduce((at, part) => at[part], spec) as Schema;
  const making: Making = { resolve, known: known.of };
  const requests = fc.oneof(
    ...operations.map((operation) => requestsOf(operation, making, options.credentials)),
  );
  let count = 0;
  const property = fc.asyncProperty(requests, async (request) => {
    count++;
    const answer = await answerTo(options.url, request);
    if (!answer) return;
    const { operationId } = request;
    const seen = statuses[operationId] ?? {};
    statuses[operationId] = { ...seen, [answer.status]: (seen[answer.status] ?? 0) + 1 };
    known.note(answer);
    judge(request, answer);
  });
  await fc.assert(property, {
    numRuns: options.requests,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  });
  return { requests: count, statuses };
}

/** A connection per request: one that was aborted cannot be reused. */
const agent = new Agent({ keepAlive: false });

function answerTo(
  url: string,
  { operationId, method, path, headers, body }: FuzzRequest,
): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      { method, path: path.replaceAll(' ', '%20'), headers, agent },
      (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        const type = response.headers['content-type'] ?? '';
        const done = (isCut: boolean) => {
          clearTimeout(limit);
          resolve({ status: response.statusCode ?? 0, type, text: Buffer.concat(chunks).toString(), isCut });
          if (isCut) request.destroy();
        };
        const limit = setTimeout(
          () => done(true),
          type.startsWith('text/event-stream') ? streamMs : patienceMs,
        );
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => done(false));
        response.on('error', () => undefined); // it was destroyed here
      },
    );
    request.on('error', reject);
    const limitMs = waiting.has(operationId) ? waitingMs : patienceMs;
    request.setTimeout(limitMs, () => {
      if (waiting.has(operationId)) resolve(undefined);
      request.destroy(new Error(`no answer within ${limitMs} ms`));
    });
    request.end(body);
  });
}
