/**
 * Carries MCP messages between a client on standard input and output and a gateway. Messages pass as they are, so that
 * names, descriptions, schemas, progress, questions and errors are the gateway's own; looked into are only the list of
 * tools and the names of those that are called.
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

export interface Bridge {
  /** From now on messages pass. */
  start(): Promise<void>;
  /** May this be sent twice? Tools say so of themselves. */
  mayRepeat(message: unknown): boolean;
  /** What was offered may have changed while nobody could say so. */
  tellChanged(): void;
  /** The stream that would have brought an answer is lost. */
  loseStream(lastEventId: string): void;
  /** Cancels what is under way. */
  cancelAll(): Promise<void>;
}

interface BridgeDeps {
  client: Transport;
  gateway: Transport;
  view: ToolView;
  say(line: string): void;
  /** Gives up a request that never reached the gateway. */
  giveUp(id: RequestId): boolean;
}

type Result = Record<string, unknown>;

const methodNotFound = -32601;
const invalidParams = -32602;
const connectionClosed = -32000;
/** What a narrow view has besides. */
const narrowMethods = /^(initialize|tools\/.*|logging\/.*)$/;
const narrowNotifications = /^notifications\/(resources|prompts)\//;
const lost = 'The connection to the gateway broke; whether the call took effect is unknown.';

export function createBridge({ client, gateway, view, say, giveUp }: BridgeDeps): Bridge {
  /** Requests of the client without an answer, by id. */
  const open = new Map<RequestId, JSONRPCRequest>();
  /** Where answers under way come from: event ids of a stream begin alike. */
  const streams = new Map<string, RequestId>();
  const hints = new Map<string, Tool['annotations']>();
  let begun = false;

  const toClient = (message: JSONRPCMessage) => void client.send(message);
  const fail = (id: RequestId, code: number, message: string) => {
    open.delete(id);
    toClient({ jsonrpc: '2.0', id, error: { code, message } });
  };

  const forward = async (message: JSONRPCMessage) => {
    if (!isJSONRPCRequest(message)) return gateway.send(message).catch((error) => say(`not sent: ${error}`));
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
    const { id, method, params } = message;
    if (method === 'ping') return toClient({ jsonrpc: '2.0', id, result: {} }); // it is the bridge that lives
    // Protocols of 2026 begin without initialize; a client that hears this falls back.
    if (!begun && method !== 'initialize')
      return fail(id, methodNotFound, `"${method}" comes before initialize.`);
    if (view.narrow && !narrowMethods.test(method))
      return fail(id, methodNotFound, `There is no method "${method}" here.`);
    if (method === 'initialize') begun = true;
    open.set(id, message);
    if (method !== 'tools/call') return void forward(message);
    const name = view.nameOf(String(params?.name));
    if (name === undefined)
      return fail(id, invalidParams, `There is no tool "${String(params?.name)}" here.`);
    void forward({ ...message, params: { ...params, name } });
  };

  const resultOf = (method: string, result: Result): Result => {
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
    if (shown.length === 0) say('the gateway offers none of the tools that were asked for');
    return { ...result, tools: shown };
  };

  const fromGateway = (message: JSONRPCMessage) => {
    if ('method' in message) {
      if (!view.narrow || !narrowNotifications.test(message.method)) toClient(message);
      return;
    }
    const request = message.id === undefined ? undefined : open.get(message.id);
    if (!request) return; // cancelled meanwhile
    open.delete(request.id);
    for (const [stream, id] of streams) if (id === request.id) streams.delete(stream);
    if ('result' in message) toClient({ ...message, result: resultOf(request.method, message.result) });
    else toClient(message);
  };

  return {
    async start() {
      client.onmessage = fromClient;
      client.onerror = (error) => say(`from the client: ${error.message}`);
      gateway.onmessage = fromGateway;
      await gateway.start();
      await client.start();
    },
    mayRepeat(message) {
      const { method, params } = (message ?? {}) as { method?: string; params?: { name?: string } };
      if (method !== 'tools/call') return true;
      const { readOnlyHint, idempotentHint } = hints.get(String(params?.name)) ?? {};
      return readOnlyHint === true || idempotentHint === true;
    },
    tellChanged() {
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
          params: { requestId, reason: 'the client left' },
        }));
      await Promise.allSettled(cancelled.map((message) => gateway.send(message)));
    },
  };
}

/** Event ids of the gateway are `<stream>_<position>`. */
const streamOf = (eventId: string) => eventId.split('_')[0] ?? '';
