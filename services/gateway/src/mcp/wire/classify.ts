import type { IncomingHttpHeaders } from 'node:http';
import { type ModernCall, readModernCall } from '../modern/modern-call.ts';
import { type Incoming, parseIncoming } from './json-rpc.ts';

/** A POST to /mcp: its era and message. */
export type McpPost =
  /** `call` is undefined for a malformed request, which the SDK refuses. */
  { era: 'modern'; call: ModernCall | undefined } | { era: 'legacy'; incoming: Incoming };

const envelopeKey = 'io.modelcontextprotocol/protocolVersion';

/**
 * Classifies a POST to /mcp, for the short path and for Fastify. A request is modern if its `_meta` has the
 * 2026 envelope. Without one, the version header decides. The body goes first, because some clients send
 * modern headers with legacy requests. Throws `invalid_request` for a batch, and like `parseIncoming` for a
 * legacy request.
 */
export function classify(headers: IncomingHttpHeaders, body: unknown): McpPost {
  if (!isModern(headers, body)) return { era: 'legacy', incoming: parseIncoming(body) };
  const incoming = readable(body);
  return { era: 'modern', call: incoming && readModernCall(headers, incoming) };
}

function isModern({ 'mcp-protocol-version': version }: IncomingHttpHeaders, body: unknown): boolean {
  if (Array.isArray(body)) parseIncoming(body); // refuses a batch, whatever its version
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
