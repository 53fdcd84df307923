import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

type RequestId = string | number;

/** A response that stays open after its result is closed after this, ms; most end by themselves, and their connection is used again. */
const lingerMs = 1_000;

/**
 * Ends what the SDK would wait for, or leave open, without end. A request of HTTP fails when its stream was cut off, or has ended,
 * without its response; streams that can be resumed are left to the SDK. Its response is closed when the request is cancelled, or some
 * time after its result.
 */
export function failLostRequests(transport: Transport): void {
  const open = new Map<RequestId, AbortController>();
  const { onmessage: read, onerror: hear } = transport;
  const send = transport.send.bind(transport);
  /** What has just ended a stream; the SDK says it immediately before its end. */
  let reason: string | undefined;
  transport.onerror = (error) => {
    reason = error.message;
    queueMicrotask(() => {
      reason = undefined;
    });
    hear?.(error);
  };
  const take = (id: RequestId) => {
    const ended = open.get(id);
    open.delete(id);
    return ended;
  };
  transport.onmessage = (message, extra) => {
    if (!('method' in message) && message.id !== undefined) {
      const ended = take(message.id);
      if (ended) setTimeout(() => ended.abort(), lingerMs).unref();
    }
    read?.(message, extra);
  };
  transport.send = async (message, options) => {
    if ('method' in message && message.method === 'notifications/cancelled')
      take((message.params as { requestId: RequestId }).requestId)?.abort();
    // A caller that wants to know itself is not waiting for a response.
    if (!('method' in message && 'id' in message) || options?.onRequestStreamEnd)
      return send(message, options);
    const { id } = message;
    const onRequestStreamEnd = () => {
      if (take(id)) transport.onmessage?.(lostResponse(id, reason));
    };
    const ended = new AbortController();
    open.set(id, ended);
    const given = options?.requestSignal;
    given?.addEventListener('abort', () => take(id), { once: true });
    const requestSignal = given ? AbortSignal.any([given, ended.signal]) : ended.signal;
    await send(message, { ...options, onRequestStreamEnd, requestSignal }).catch((error) => {
      take(id);
      throw error;
    });
  };
}

const lostResponse = (id: RequestId, reason = 'the stream has ended'): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32603, message: `There was no response: ${reason}` },
});
