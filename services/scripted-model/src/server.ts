/**
 * The HTTP server of scripted-model, a deterministic stand-in for the Anthropic Messages API: it executes the script that
 * the user's message contains.
 *
 * - `main.ts`         starts the server
 * - `config.ts`       configuration from the environment
 * - `endpoints.ts`    the two endpoints
 * - `body.ts`         reads and parses request bodies
 * - `request.ts`      schemas of requests
 * - `conversation.ts` the script and its progress, from the messages of a request
 * - `script.ts`       the language of scripts
 * - `plan.ts`         decides the next response
 * - `review.ts`       responses to review prompts
 * - `perform.ts`      executes a plan
 * - `failures.ts`     counts failures
 * - `reply.ts`        responses as one JSON body
 * - `stream.ts`       responses as a stream of events
 * - `wire.ts`         the shapes of the Messages API
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@harness/runtime';
import { RequestError } from './body.ts';
import { answerCount, answerMessages } from './endpoints.ts';
import { createFailures } from './failures.ts';
import { sendError, sendJson } from './wire.ts';

/** How to start the server. */
export interface ScriptedModelDeps {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  logger?: Logger;
}

/** A running server. */
export interface ScriptedModel {
  url: string;
  /** Also closes every open connection, so that a hanging client does not keep the process alive. */
  close(): Promise<void>;
}

/** Starts a server; resolves once it listens. */
export async function createScriptedModel(deps: ScriptedModelDeps = {}): Promise<ScriptedModel> {
  const { host = '127.0.0.1', port = 0, logger } = deps;
  const failures = createFailures();

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://any').pathname;
    switch (`${request.method} ${path}`) {
      case 'POST /v1/messages':
        return answerMessages(request, response, failures);
      case 'POST /v1/messages/count_tokens':
        return answerCount(request, response);
      case 'GET /':
      case 'GET /healthz':
        return sendJson(response, 200, selfDescription);
      default:
        return sendError(response, 404, `There is no ${request.method} ${path} on this server.`);
    }
  };

  const server = createServer((request, response) => {
    response.on('error', (error) => logger?.debug({ err: error }, 'the client disconnected'));
    route(request, response).catch((error) => refuse(response, error, logger));
  });
  // 0 = no timeout: a client must not reuse a kept-alive connection at the moment when the server closes it.
  server.keepAliveTimeout = 0;
  await new Promise<void>((listening, reject) => {
    server.once('error', reject).listen(port, host, listening);
  });
  return {
    url: urlOf(host, (server.address() as AddressInfo).port),
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const selfDescription = {
  status: 'ok',
  name: 'scripted-model',
  isModel: false,
  message:
    'This is NOT a model: it executes the script in the message, so that everything else can run without a key.',
};

function refuse(response: ServerResponse, error: unknown, logger: Logger | undefined): void {
  if (response.destroyed) return; // the client disconnected while its request was read
  const known = error instanceof RequestError;
  if (!known) logger?.error({ err: error }, 'the response failed');
  // The rest of a body that is too large is not read.
  if (known && error.status === 413) response.setHeader('connection', 'close');
  if (response.headersSent) response.destroy();
  else
    sendError(
      response,
      known ? error.status : 500,
      known ? error.message : 'Internal error; the log has the cause.',
    );
}

/** The URL for a client on this machine. A wildcard address cannot be called, so it becomes 127.0.0.1. */
function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
