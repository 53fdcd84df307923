/** The main file of the process that reads a document; see convert-document.ts. */

import { isObject } from '@harness/contracts';
import { upgrade } from '@scalar/openapi-upgrader';
import { parse as parseYaml } from 'yaml';
import type { ConversionMessage, ConversionRequest, ConvertedDocument } from './convert-document.ts';
import { operationsOf } from './operations.ts';

/** One operation as JSON, and all of them, bytes: no model reads larger ones, and no list is read beyond. */
const maxOperationBytes = 100 * 1024;
const maxBytes = 20 * 1024 * 1024;
const maxProblems = 50;

/** OpenAPI 3.0 becomes 3.1, whose schemas are JSON Schema. YAML aliases are bounded: they can make a small text endless. */
function documentOf(text: string): Record<string, unknown> {
  const parsed: unknown = text.trimStart().startsWith('{')
    ? JSON.parse(text)
    : parseYaml(text, { maxAliasCount: 10_000 });
  if (!isObject(parsed) || !/^3\.[01]/.test(String(parsed.openapi)))
    throw new Error('it is no document of OpenAPI 3.0 or 3.1');
  return upgrade(parsed, '3.1') as Record<string, unknown>;
}

function convert({ text, patterns }: ConversionRequest): ConvertedDocument {
  const document = documentOf(text);
  const problems = new Set<string>();
  const problem = (one: string) => problems.size < maxProblems && problems.add(one.slice(0, 500));
  let bytesLeft = maxBytes;
  const operations = operationsOf(document, patterns, problem).filter((operation) => {
    const bytes = Buffer.byteLength(JSON.stringify(operation));
    const isKept = bytes <= maxOperationBytes && bytes <= bytesLeft;
    if (isKept) bytesLeft -= bytes;
    else problem(`${operation.method} ${operation.path}: it is left out: it has ${bytes} bytes`);
    return isKept;
  });
  const { title, version, description } = isObject(document.info) ? document.info : {};
  const [server] = Array.isArray(document.servers) ? document.servers : [];
  return {
    title: textOf(title),
    version: textOf(version),
    description: textOf(description),
    server: textOf(isObject(server) ? server.url : undefined),
    operations,
    problems: [...problems],
  };
}

/** Longest text that is used, characters. */
const maxText = 2_000;
const textOf = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, maxText) : undefined;

process.once('message', (request: ConversionRequest) => {
  process.send?.(answerTo(request));
});

function answerTo(request: ConversionRequest): ConversionMessage {
  try {
    return { converted: convert(request) };
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
}
