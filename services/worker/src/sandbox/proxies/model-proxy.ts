/**
 * The proxy through which a sandbox reaches the model: the worker adds its credentials to the requests of a session.
 *
 * This folder:
 *   model-endpoint.ts    where the model is, and the credentials for it
 *   tool-relay.ts        passes messages between a session and the gateway
 *   egress-proxy.ts      the proxy to hosts that the operator allows
 *   egress-forward.mjs   in the sandbox: forwards a local port to that proxy
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Logger } from '@harness/runtime';

/** Where the model is, and the credentials for it. They stay in the worker. */
export interface ModelEndpoint {
  url: URL;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  /** Reads HTTPS_PROXY and the like. */
  proxyEnv: Readonly<Record<string, string>>;
}

/** The proxy of one sandbox to the model. */
export interface ModelProxy {
  /** The socket that the session connects to. */
  readonly socketPath: string;
  /** The key that the session must present; it is valid at this proxy only. */
  readonly key: string;
  /**
   * Requests are answered between `open` and `shut` only, and `shut` ends those in progress, so that nothing in the sandbox uses the
   * model after its turn.
   */
  open(): void;
  shut(): void;
  close(): Promise<void>;
}

const messagesPath = '/v1/messages';
/** Most connections and requests at the same time, and requests in one turn. */
const limits = { connections: 64, atOnce: 8, aTurn: 2_000, bodyBytes: 64 * 1024 * 1024 };
/** A response that brings no byte for this long has failed, ms. */
const silenceMs = 300_000;
/** Headers that the proxy does not pass on. */
const ofThisHop = [
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
];
const credentials = ['authorization', 'x-api-key'];

/**
 * Creates the creator of proxies. Its connections to the model are shared by all sandboxes of the worker.
 */
export function createModelProxies({ url, headers, proxyEnv }: ModelEndpoint, logger: Logger) {
  const secure = url.protocol === 'https:';
  const agent = secure
    ? new HttpsAgent({ keepAlive: true, proxyEnv })
    : new HttpAgent({ keepAlive: true, proxyEnv });
  const ask = secure ? httpsRequest : httpRequest;

  /** Sends the request on, with the worker's credentials in place of the session's key. */
  const forward = (request: IncomingMessage, response: ServerResponse, onEnd: () => void) => {
    const target = new URL(url);
    target.pathname = `${url.pathname.replace(/\/$/, '')}/v1/messages`;
    target.search = request.url?.slice(messagesPath.length) ?? '';
    const passed = Object.entries(request.headers).filter(
      ([name]) => !ofThisHop.includes(name) && !credentials.includes(name),
    );
    const outgoing = ask(target, {
      method: 'POST',
      agent,
      headers: { ...Object.fromEntries(passed), ...headers },
      timeout: silenceMs,
    });
    const fail = (error: Error) => {
      logger.warn({ err: error }, 'request of a sandbox to the model failed');
      if (response.headersSent) response.destroy();
      else refuse(response, 502, 'The model cannot be reached.');
    };
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no byte for ${silenceMs} ms`)));
    outgoing.on('error', fail);
    outgoing.on('response', (incoming) => {
      const kept = Object.entries(incoming.headers).filter(([name]) => !ofThisHop.includes(name));
      response.writeHead(incoming.statusCode ?? 502, Object.fromEntries(kept) as Record<string, string>);
      incoming.on('error', fail);
      incoming.pipe(response);
    });
    response.on('close', () => {
      outgoing.destroy();
      onEnd();
    });
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bodyBytes)
        outgoing.destroy(new Error(`a request of more than ${limits.bodyBytes} bytes`));
    });
    request.pipe(outgoing);
  };

  return {
    async create(socketPath: string): Promise<ModelProxy> {
      const key = `sandbox-${randomBytes(24).toString('hex')}`;
      let isOpen = false;
      const inProgress = new Set<ServerResponse>();
      let inTurn = 0;
      const refusalOf = (request: IncomingMessage): [number, string] | undefined => {
        // Compares the raw text, not a parsed URL: `//host/v1/messages` must not lead to another host.
        const [path] = (request.url ?? '').split('?', 1);
        if (request.method !== 'POST' || path !== messagesPath)
          return [404, 'Only POST /v1/messages is there.'];
        if (!presents(request, key)) return [401, 'The key of this session is missing.'];
        if (!isOpen) return [403, 'No turn is in progress.'];
        if (inProgress.size >= limits.atOnce)
          return [429, `More than ${limits.atOnce} requests at the same time.`];
        if (inTurn >= limits.aTurn) return [403, `More than ${limits.aTurn} requests in one turn.`];
        return undefined;
      };
      const server = createServer((request, response) => {
        const refusal = refusalOf(request);
        if (refusal) {
          refuse(response, ...refusal);
          request.resume();
          return;
        }
        inProgress.add(response);
        inTurn++;
        forward(request, response, () => inProgress.delete(response));
      });
      server.requestTimeout = silenceMs;
      server.maxConnections = limits.connections; // each takes a descriptor of the worker
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(socketPath, resolve);
      });
      return {
        socketPath,
        key,
        open() {
          isOpen = true;
          inTurn = 0;
        },
        shut() {
          isOpen = false;
          for (const response of inProgress) response.destroy();
        },
        async close() {
          server.closeAllConnections();
          await new Promise<void>((resolve) => server.close(() => resolve()));
        },
      };
    },
    close: () => agent.destroy(),
  };
}

/** Creates the proxies of sandboxes. */
export type ModelProxies = ReturnType<typeof createModelProxies>;

function presents(request: IncomingMessage, key: string): boolean {
  const { authorization, 'x-api-key': apiKey } = request.headers;
  const shown = Buffer.from(String(apiKey ?? authorization?.replace(/^Bearer /, '') ?? ''));
  const wanted = Buffer.from(key);
  return shown.length === wanted.length && timingSafeEqual(shown, wanted);
}

/** An error in the form of the Messages API, so that the agent reports its text. */
function refuse(response: ServerResponse, status: number, message: string): void {
  // The agent retries a failed connection, as it does without a sandbox, but not a refusal.
  const retry = status >= 500 ? 'true' : 'false';
  response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': retry });
  response.end(JSON.stringify({ type: 'error', error: { type: 'permission_error', message } }));
}
