import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '@harness/contracts';
import { type ModernCall, readModernCall } from '../modern/modern-call.ts';
import { type Incoming, parseIncoming } from './json-rpc.ts';

/** What a POST to /mcp is: its era, and the message in it. */
export type McpPost =
  /** `call` is undefined where the request is malformed: the SDK refuses it. */
  { era: 'modern'; call: ModernCall | undefined } | { era: 'legacy'; incoming: Incoming };

const envelopeKey = 'io.modelcontextprotocol/protocolVersion';

/**
 * Classifies a POST to /mcp, for both of its entrances. A request with the 2026 envelope in its `_meta` is modern: the body
 * decides, since some clients send modern headers with old requests; without an envelope, a version that only the modern
 * protocol has does. Throws `invalid_request` for a batch, and what `parseIncoming` throws for a legacy one.
 */
export function classify(headers: IncomingHttpHeaders, body: unknown): McpPost {
  if (!isModern(headers, body)) return { era: 'legacy', incoming: parseIncoming(body) };
  const incoming = readable(body);
  return { era: 'modern', call: incoming && readModernCall(headers, incoming) };
}

function isModern({ 'mcp-protocol-version': version }: IncomingHttpHeaders, body: unknown): boolean {
  if (Array.isArray(body)) throw new AppError('invalid_request', 'JSON-RPC batches are not accepted.');
  const meta = (body as { params?: { _meta?: unknown } } | null)?.params?._meta;
  if (typeof meta === 'object' && meta !== null && envelopeKey in meta) return true;
  return typeof version === 'string' && version >= '2026';
}

function readable(body: unknown): Incoming | undefined {
  try {
    return parseIncoming(body);
  } catch {
    return undefined;
  }
}
