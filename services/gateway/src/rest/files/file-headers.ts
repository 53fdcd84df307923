import { AppError } from '@harness/contracts';
import type { Manifest } from '@harness/workspaces';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Headers of every response with content of a thread, which is foreign: no browser shows it, runs it, or takes it for
 * another type.
 */
export function attach(reply: FastifyReply, { name, etag }: { name: string; etag?: string }): FastifyReply {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (one) => `%${hexOf(one)}`);
  return reply.headers({
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Cache-Control': 'private, no-cache',
    ...(etag && { ETag: etag }),
  });
}

const hexOf = (char: string) => char.charCodeAt(0).toString(16).toUpperCase();

/** The ETag of a digest. */
export const etagOf = (digest: string): string => `"${digest}"`;

const tagsIn = (header: string | undefined) =>
  header?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));

/** Whether the caller has this already (If-None-Match). */
export function isKnown(request: FastifyRequest, etag: string): boolean {
  const tags = tagsIn(request.headers['if-none-match']);
  return tags !== undefined && (tags.includes('*') || tags.includes(etag));
}

/** The check of If-Match and If-None-Match for a change at a path; undefined: the request has neither. */
export function preconditionOf(
  { headers }: FastifyRequest,
  path: string,
): ((files: Manifest | undefined) => void) | undefined {
  const match = tagsIn(headers['if-match']);
  const noneMatch = tagsIn(headers['if-none-match']);
  if (!match && !noneMatch) return undefined;
  return (files) => {
    const entry = files?.entries.get(path);
    const etag = entry?.kind === 'file' ? etagOf(entry.sha256) : undefined;
    const fits = (tags: string[]) =>
      (entry !== undefined && tags.includes('*')) || tags.includes(etag ?? '-');
    if ((!match || fits(match)) && !(noneMatch && fits(noneMatch))) return;
    const now = etag === undefined ? 'there is no such file' : `it has the ETag ${etag}`;
    throw new AppError(
      'precondition_failed',
      `The file is not as the request expects: ${now}. Read it again, then repeat the change.`,
      {
        details: { etag: etag ?? null },
      },
    );
  };
}

/** A part of a file; `end` is inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The one range that the request asks for (Range, If-Range); undefined: the whole file, also for several ranges. Throws
 * `range_not_satisfiable`.
 */
export function rangeOf(
  { headers }: FastifyRequest,
  { size, etag }: { size: number; etag: string },
): ByteRange | undefined {
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== etag) return undefined;
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '');
  const [, from = '', to = ''] = found ?? [];
  if (!found || (from === '' && to === '')) return undefined;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (from !== '' && to !== '' && Number(to) < start) return undefined; // malformed: ignored
  if (start < size && start <= end) return { start, end };
  throw new AppError('range_not_satisfiable', `The file has ${size} bytes, and none in the range.`);
}
