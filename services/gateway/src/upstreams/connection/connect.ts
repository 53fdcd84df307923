/**
 * One MCP connection to an upstream, of either era.
 *
 *   open-connection.ts     opens a connection of any kind
 *   request.ts             one request and its result
 *   stdio-transport.ts     a child process
 *   child-slots.ts         how many there may be
 *   bounded-fetch.ts       HTTP to the named addresses alone
 *   bounded-response.ts    as much of a response as is read
 *   fail-lost-requests.ts  requests whose stream ends without their response, and responses that would not end
 *   bound-answers.ts       how many answers wait for a server that asks
 *   client-credentials.ts  OAuth access tokens
 *   line-budget.ts         cuts off a server that floods, and gives all others their turn
 *   message-reader.ts      the messages in the output of a child process
 *   asked-calls.ts         tool calls in which a server of the 2025 versions asks the user
 *   follow-task.ts         tool calls that become tasks of the upstream
 *   pass-tasks.ts          their messages in 2026-07-28
 *   read-catalog.ts        everything that the upstream offers
 */
import { AppError } from '@harness/contracts';
import {
  Client,
  type ServerCapabilities,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { tasksExtension } from '../../mcp/wire/server-identity.ts';
import type { HttpUpstream, StdioUpstream } from '../file/upstream-config.ts';
import { createAskedCalls } from './asked-calls.ts';
import { boundAnswers } from './bound-answers.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import { createClientCredentials } from './client-credentials.ts';
import { failLostRequests } from './fail-lost-requests.ts';
import { createTaskCalls, type Send } from './follow-task.ts';
import { createLineBudget, type LineBudget } from './line-budget.ts';
import { passTasks, sendableMethodOf } from './pass-tasks.ts';
import type { RawResult, RequestOptions } from './request.ts';
import { type ChildDeps, createStdioTransport, type StdioTransport } from './stdio-transport.ts';

/** An open connection. */
export interface Connection {
  /** Null: no MCP, but an API with an OpenAPI document. */
  readonly era: 'legacy' | 'modern' | null;
  readonly protocolVersion: string | undefined;
  readonly server: { name: string; version: string } | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** What it does not offer, and why. */
  readonly problems?: readonly string[];
  /**
   * Sends a request; resolves with the result as it is, with an `input_required` result or, for a caller that can be given a task,
   * with `{resultType: 'task', continues}`. Rejects with the SDK's errors.
   */
  request(method: string, params: RawResult, options: RequestOptions): Promise<RawResult>;
  /** Asks to be notified of changes of a resource. */
  subscribe(uri: string): Promise<void>;
  close(): Promise<void>;
}

/** What a connection reports while it is open. */
export interface ConnectionEvents {
  /** One of its lists has changed. */
  onListChanged(): void;
  onResourceUpdated(uri: string): void;
  onLog(params: RawResult): void;
  /** It has ended; called at most once, and not for a connection that did not open. `why`: this gateway has closed it. */
  onClosed(why: Error | undefined): void;
  /** Something is wrong, but the connection goes on. */
  onError(error: Error): void;
}

/** What opening needs. */
export interface ConnectDeps extends ChildDeps {
  /** Longest wait for the first answer, or for the whole document of an API, ms. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Hears of each access token, which no error may have. */
  onToken?: ((token: string) => void) | undefined;
}

type McpUpstream = StdioUpstream | HttpUpstream;

const clientInfo = { name: 'harness', version: '0.1.0' };
/** A silent child is asked again in the legacy era after this, ms. */
const probeMs = 5_000;
/** Results pass as they are. */
const anything = z.looseObject({});

/**
 * Opens a connection and finds out the era. A child that ends at the question of the era is started again for the legacy era.
 * Rejects with the last error, and with what a child has written to standard error.
 */
export async function connect(
  upstream: McpUpstream,
  events: ConnectionEvents,
  deps: ConnectDeps,
): Promise<Connection> {
  if (upstream.kind === 'http') return open(upstream, events, { ...deps, mode: 'auto' });
  try {
    return await open(upstream, events, { ...deps, mode: 'auto' });
  } catch (error) {
    if (deps.signal.aborted || isFinal(error)) throw error;
    return open(upstream, events, { ...deps, mode: 'legacy' });
  }
}

/** The upstream has flooded before it was asked anything. */
class FloodError extends Error {}

/** Errors that the legacy era would have, too. */
const isFinal = (error: unknown) =>
  error instanceof AppError ||
  error instanceof FloodError ||
  /\bENOENT\b|not found|EACCES/.test(String(error));

async function open(
  upstream: McpUpstream,
  events: ConnectionEvents,
  { timeoutMs, signal, mode, ...deps }: ConnectDeps & { mode: 'auto' | 'legacy' },
): Promise<Connection> {
  const budget = createLineBudget(upstream.kind, () => void transport.close().catch(() => undefined));
  const stdio = upstream.kind === 'stdio' ? createStdioTransport(upstream, { ...deps, budget }) : undefined;
  const transport: Transport =
    stdio ?? httpTransportOf(upstream as HttpUpstream, { budget, onToken: deps.onToken });
  boundAnswers(transport, budget.exceed);
  const listChanged = { autoRefresh: false, debounceMs: 0, onChanged: () => events.onListChanged() };
  const isAsking = upstream.scope === 'thread';
  const client = new Client(clientInfo, {
    capabilities: {
      extensions: { [tasksExtension]: {} },
      // At a connection for all, the call that a question belongs to would not be certain.
      ...(isAsking && { elicitation: { form: {} } }),
    },
    inputRequired: { autoFulfill: false },
    versionNegotiation: { mode, probe: { timeoutMs: Math.min(probeMs, timeoutMs) } },
    listChanged: { tools: listChanged, prompts: listChanged, resources: listChanged },
  });
  client.onerror = (error) => events.onError(error);
  client.setNotificationHandler('notifications/message', ({ params }) => events.onLog(params as RawResult));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
    events.onResourceUpdated(params.uri),
  );
  // The SDK does not look at the signal while it finds out the era.
  const abandon = () => void transport.close().catch(() => undefined);
  signal.addEventListener('abort', abandon, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(transport, { timeout: timeoutMs, signal });
  } catch (error) {
    await transport.close().catch(() => undefined);
    throw budget.exceeded ? new FloodError(budget.exceeded.message) : explained(error as Error, stdio);
  } finally {
    signal.removeEventListener('abort', abandon);
  }
  client.onclose = () => events.onClosed(budget.exceeded);
  const isModern = client.getProtocolEra() === 'modern';
  const capabilities = client.getServerCapabilities() ?? {};
  if (!isModern && capabilities.logging) client.setLoggingLevel('info').catch(events.onError);
  if (!stdio) failLostRequests(transport);
  if (isModern) passTasks(transport);
  const send: Send = (method, params, { signal: cancelled, timeoutMs: timeout, onProgress, headers }) =>
    client.request({ method: isModern ? sendableMethodOf(method) : method, params }, anything, {
      timeout,
      allowInputRequired: true,
      ...(cancelled && { signal: cancelled }),
      ...(onProgress && { onprogress: onProgress }),
      ...(headers && { headers }),
    });
  const follow = createTaskCalls(send, { isModern });
  const callTool = isAsking && !isModern ? createAskedCalls(client, follow) : follow;
  const watched = new Set<string>();

  return {
    era: isModern ? 'modern' : 'legacy',
    protocolVersion: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    capabilities,
    instructions: client.getInstructions(),
    request: (method, params, options) =>
      (method === 'tools/call' ? callTool : send)(method, params, options).catch((error) => {
        throw budget.exceeded ?? error;
      }),
    async subscribe(uri) {
      if (!capabilities.resources?.subscribe || watched.has(uri) || watched.size >= maxSubscriptions) return;
      watched.add(uri);
      try {
        if (isModern) await client.listen({ resourceSubscriptions: [uri] });
        else await client.subscribeResource({ uri });
      } catch (error) {
        watched.delete(uri);
        throw error;
      }
    },
    close: () => client.close(),
  };
}

/** Resources that one connection is asked to watch; later ones are not. */
export const maxSubscriptions = 1_000;

/** Shortest and longest wait before a stream is opened again, ms. */
const [minReopenMs, maxReopenMs] = [500, 60_000];

function httpTransportOf(
  upstream: HttpUpstream,
  { budget, onToken }: { budget: LineBudget; onToken: ConnectDeps['onToken'] },
): StreamableHTTPClientTransport {
  const { url, headers, auth } = upstream;
  const named = [url, auth?.issuer, auth?.tokenUrl].filter((one) => one !== undefined);
  const fetch = createBoundedFetch(new Set(named.map((one) => new URL(one).origin)), { budget });
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch,
    requestInit: { headers },
    ...(auth && { authProvider: createClientCredentials({ ...upstream, auth }, { fetch, onToken }) }),
    reconnectionScheduler(reconnect, delayMs) {
      // The server says when, also at once and for ever.
      const timer = setTimeout(reconnect, Math.min(maxReopenMs, Math.max(minReopenMs, delayMs)));
      return () => clearTimeout(timer);
    },
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: maxReopenMs,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 1_000_000, // the stream of notifications is reopened as long as the connection is used
    },
  });
}

function explained(error: Error, stdio: StdioTransport | undefined): Error {
  const words = stdio?.lastWords();
  return words ? new Error(`${error.message}\n${words}`, { cause: error }) : error;
}
