/**
 * Forwards MCP messages between a client on standard input and output and a gateway. Messages are not changed, so that
 * names, descriptions, schemas, progress, requests for input and errors are the gateway's own. Only `initialize`, the list
 * of tools and the names of called tools are adapted to the view.
 *
 * - `main.ts`          `npm run bridge`
 * - `config.ts`        environment and options
 * - `tool-view.ts`     which tools the client sees, and under which names
 * - `gateway-fetch.ts` `fetch` that waits for the gateway and renews the session
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Tool, ToolView } from './tool-view.ts';

/** A running bridge. */
export interface Bridge {
  /** Starts to forward messages. */
  start(): Promise<void>;
  /** Whether a message may be sent twice; for a tool call, its annotations decide. */
  mayRepeat(message: unknown): boolean;
  /** Notifies the client that all lists may have changed, after a lost connection. */
  notifyChanged(): void;
  /** The stream that should have carried a response is lost: fails its request. */
  loseStream(lastEventId: string): void;
  /** Cancels all open requests. */
  cancelAll(): Promise<void>;
}

interface BridgeDeps {
  client: Transport;
  gateway: Transport;
  view: ToolView;
  log(line: string): void;
  /** Stops the retries of a request that has not reached the gateway; false if there is none. */
  giveUp(id: RequestId): boolean;
}

type Result = Record<string, unknown>;

const methodNotFound = -32601;
const invalidParams = -32602;
const connectionClosed = -32000;
/** Methods and notifications that a narrow view has. */
const narrowMethods = /^(initialize|tools\/.*|logging\/.*)$/;
const narrowNotifications = /^notifications\/(resources|prompts)\//;
const lost = 'The connection to the gateway broke; whether the call took effect is unknown.';

/** Creates a bridge between two transports. */
export function createBridge({ client, gateway, view, log, giveUp }: BridgeDeps): Bridge {
  const adapter = createViewAdapter({ gateway, view, log });
  /** Requests of the client without a response, by id. */
  const open = new Map<RequestId, JSONRPCRequest>();
  /** The streams of open requests, by the common beginning of their event ids. */
  const streams = new Map<string, RequestId>();
  let begun = false;

  const toClient = (message: JSONRPCMessage) => void client.send(message);
  const fail = (id: RequestId, code: number, message: string) => {
    open.delete(id);
    toClient({ jsonrpc: '2.0', id, error: { code, message } });
  };

  const forward = async (message: JSONRPCMessage) => {
    if (!isJSONRPCRequest(message)) return gateway.send(message).catch((error) => log(`not sent: ${error}`));
    const { id } = message;
    try {
      const onresumptiontoken = (token: string) => void streams.set(streamOf(token), id);
      await gateway.send(message, { onresumptiontoken });
    } catch {
      if (open.has(id)) fail(id, connectionClosed, lost);
    }
  };

  const fromClient = (message: JSONRPCMessage) => {
    if (isJSONRPCNotification(message)) {
      const id = message.params?.requestId as RequestId | undefined;
      if (message.method === 'notifications/cancelled' && id !== undefined) {
        open.delete(id);
        if (giveUp(id)) return;
      }
    }
    if (!isJSONRPCRequest(message)) return void forward(message);
    const { id, method } = message;
    if (method === 'ping') return toClient({ jsonrpc: '2.0', id, result: {} }); // a ping asks whether the bridge itself is alive
    // MCP of 2026 has no initialize; with this error such a client falls back to 2025.
    if (!begun && method !== 'initialize')
      return fail(id, methodNotFound, `"${method}" was sent before initialize.`);
    const adapted = adapter.request(message);
    if ('code' in adapted) return fail(id, adapted.code, adapted.message);
    if (method === 'initialize') begun = true;
    open.set(id, message);
    void forward(adapted);
  };

  const fromGateway = (message: JSONRPCMessage) => {
    if ('method' in message) {
      if (!view.narrow || !narrowNotifications.test(message.method)) toClient(message);
      return;
    }
    const request = message.id === undefined ? undefined : open.get(message.id);
    if (!request) return; // already cancelled
    open.delete(request.id);
    for (const [stream, id] of streams) if (id === request.id) streams.delete(stream);
    if ('result' in message) toClient({ ...message, result: adapter.result(request.method, message.result) });
    else toClient(message);
  };

  return {
    async start() {
      client.onmessage = fromClient;
      client.onerror = (error) => log(`from the client: ${error.message}`);
      gateway.onmessage = fromGateway;
      await gateway.start();
      await client.start();
    },
    mayRepeat: adapter.mayRepeat,
    notifyChanged() {
      const lists = view.narrow ? ['tools'] : ['tools', 'resources', 'prompts'];
      for (const list of lists) toClient({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
    },
    loseStream(lastEventId) {
      const id = streams.get(streamOf(lastEventId));
      streams.delete(streamOf(lastEventId));
      if (id !== undefined && open.has(id)) fail(id, connectionClosed, lost);
    },
    async cancelAll() {
      const ids = [...open.keys()];
      open.clear();
      const cancelled = ids
        .filter((id) => !giveUp(id))
        .map((requestId) => ({
          jsonrpc: '2.0' as const,
          method: 'notifications/cancelled',
          params: { requestId, reason: 'the client disconnected' },
        }));
      await Promise.allSettled(cancelled.map((message) => gateway.send(message)));
    },
  };
}

/** Adapts requests and results to the view. */
function createViewAdapter({ gateway, view, log }: Pick<BridgeDeps, 'gateway' | 'view' | 'log'>) {
  const hints = new Map<string, Tool['annotations']>();
  return {
    /** The request as the gateway gets it, or the error with which it is refused. */
    request(message: JSONRPCRequest): JSONRPCRequest | { code: number; message: string } {
      const { method, params } = message;
      if (view.narrow && !narrowMethods.test(method)) {
        const why = `The method "${method}" is not available: this bridge offers only tools.`;
        return { code: methodNotFound, message: why };
      }
      if (method !== 'tools/call') return message;
      const name = view.nameOf(String(params?.name));
      if (name !== undefined) return { ...message, params: { ...params, name } };
      const why = `The tool "${String(params?.name)}" is not offered by this bridge.`;
      return { code: invalidParams, message: why };
    },
    /** The result as the client gets it. */
    result(method: string, result: Result): Result {
      if (method === 'initialize') {
        gateway.setProtocolVersion?.(String(result.protocolVersion));
        if (!view.narrow) return result;
        const { tools, logging } = result.capabilities as Result;
        return { ...result, capabilities: { tools, logging } };
      }
      if (method !== 'tools/list') return result;
      const tools = result.tools as Tool[];
      for (const { name, annotations } of tools) hints.set(name, annotations);
      const shown = view.shown(tools);
      if (shown.length === 0) log('the gateway offers no tool of this plugin; check --plugin and the key');
      return { ...result, tools: shown };
    },
    mayRepeat(message: unknown): boolean {
      const { method, params } = (message ?? {}) as { method?: string; params?: { name?: string } };
      if (method !== 'tools/call') return true;
      const { readOnlyHint, idempotentHint } = hints.get(String(params?.name)) ?? {};
      return readOnlyHint === true || idempotentHint === true;
    },
  };
}

/** Event ids of the gateway are `<stream>_<position>`. */
const streamOf = (eventId: string) => eventId.split('_')[0] ?? '';
