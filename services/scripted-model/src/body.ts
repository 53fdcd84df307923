import type { Readable } from 'node:stream';
import type { z } from 'zod';

const bodyLimitBytes = 64 * 1024 * 1024;

/** What is wrong with a request, as the Messages API would say it. */
export class RequestError extends Error {
  override name = 'RequestError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The whole body as text; 413 beyond the limit, 64 MiB. */
export async function readBody(request: Readable, limitBytes = bodyLimitBytes): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // A request left half read must live until it has been answered.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw new RequestError(413, `The limit of a request is ${limitBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

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
