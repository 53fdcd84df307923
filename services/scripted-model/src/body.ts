/** Reads and parses request bodies. */
import type { Readable } from 'node:stream';
import type { z } from 'zod';

const bodyLimitBytes = 64 * 1024 * 1024;

/** A refused request, with its HTTP status. */
export class RequestError extends Error {
  override name = 'RequestError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads the whole body as text. Throws RequestError 413 beyond the limit (64 MiB). */
export async function readBody(request: Readable, limitBytes = bodyLimitBytes): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Does not destroy a partly read request, because the response still needs its socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes)
      throw new RequestError(413, `The request is larger than the limit of ${limitBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Parses a JSON body. Throws RequestError 400 with the first problem. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  const parsed = schema.safeParse(parseJson(body));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new RequestError(400, `${issue?.path.join('.')}: ${issue?.message}`);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new RequestError(400, 'The request body is not valid JSON.');
  }
}
