import { Readable } from 'node:stream';
import { AppError } from '@harness/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Largest body of an upload, and what an archive may expand to, bytes. */
export const maxUploadBytes = 64 * 1024 * 1024;

const types = ['application/octet-stream', 'application/x-tar'];

/** In this scope bodies are streams of these types, and nothing else. */
export function readUploads(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(types, (_request, payload, done) => done(null, payload));
  // Also a body without any type, as of `curl -T`.
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(
      new AppError('unsupported_media_type', `Send the body as ${types.join(' or, for an archive, as ')}.`),
    ),
  );
}

/** The body as a stream that ends with an error beyond the limit. Throws `unsupported_media_type`, `body_too_large`. */
export function uploadOf(request: FastifyRequest, type: string): Readable {
  const [essence = type] = (request.headers['content-type'] ?? '').split(';');
  if (request.body && essence.trim().toLowerCase() !== type)
    throw new AppError('unsupported_media_type', `Send the body as ${type}.`);
  if (Number(request.headers['content-length'] ?? 0) > maxUploadBytes) throw tooLarge();
  return request.body ? Readable.from(bounded(request.body as Readable)) : Readable.from([]);
}

async function* bounded(body: Readable): AsyncGenerator<Buffer> {
  let bytes = 0;
  // The request must not be destroyed with its iterator: its connection still takes the response.
  const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxUploadBytes) throw tooLarge();
      yield chunk;
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid_request', 'The body ended before it was complete. Send it again.', {
      cause: error,
    });
  } finally {
    body.resume(); // what is left is read and dropped, so that the connection can be reused or closed
  }
}

const tooLarge = () => new AppError('body_too_large', `The body may have at most ${maxUploadBytes} bytes.`);
