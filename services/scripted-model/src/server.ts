import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@harness/runtime';
import { answerCount, answerMessages } from './answer.ts';
import { RequestError } from './body.ts';
import { createFailures } from './failures.ts';
import { sendError, sendJson } from './wire.ts';

export interface ScriptedModelDeps {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  logger?: Logger;
}

export interface ScriptedModel {
  url: string;
  /** Cuts every open connection, too: a client that hangs must not keep the process alive. */
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
        return sendError(response, 404, `There is no ${request.method} ${path} here.`);
    }
  };

  const server = createServer((request, response) => {
    response.on('error', (error) => logger?.debug({ err: error }, 'the client went away'));
    route(request, response).catch((error) => refuse(response, error, logger));
  });
  // A client that keeps a connection for later must not find it closed just when it writes to it.
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
    'This is NOT a model: it plays the lines that it is sent, so that everything else can run without a key.',
};

function refuse(response: ServerResponse, error: unknown, logger: Logger | undefined): void {
  if (response.destroyed) return; // the client left while it was read
  const known = error instanceof RequestError;
  if (!known) logger?.error({ err: error }, 'the answer failed');
  // What remains of a body that was too large is not read.
  if (known && error.status === 413) response.setHeader('connection', 'close');
  if (response.headersSent) response.destroy();
  else sendError(response, known ? error.status : 500, known ? error.message : 'The log has the cause.');
}

/** Where a client on this machine reaches the server: a wildcard address is none that one can call. */
function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
