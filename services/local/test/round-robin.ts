import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RoundRobin {
  url: string;
  /** Bodies of all requests so far. */
  readonly seen: readonly string[];
  /** Requests whose target broke the connection after it had accepted them. */
  readonly broken: readonly { target: string; body: string }[];
  close(): Promise<void>;
}

interface Exchange {
  incoming: IncomingMessage;
  answer: ServerResponse;
  body: string;
}

/**
 * A simple load balancer: each request goes to the next target, and to one more if the connection is refused. An
 * accepted request is never sent again. Streams are passed on unbuffered.
 */
export async function openRoundRobin(targets: () => readonly string[]): Promise<RoundRobin> {
  let turn = 0;
  const seen: string[] = [];
  const broken: { target: string; body: string }[] = [];

  const forward = (exchange: Exchange, triesLeft: number) => {
    const { incoming, answer, body } = exchange;
    const urls = targets();
    const target = urls[turn++ % urls.length] ?? '';
    const { hostname, port } = new URL(target);
    const { method = 'GET', url: path = '/', headers } = incoming;
    const breakOff = () => {
      if (!answer.destroyed) broken.push({ target, body });
      answer.destroy();
    };
    const wanted = { hostname, port, method, path, headers, agent: false };
    const outgoing = httpRequest(wanted, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
      response.on('error', breakOff);
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && triesLeft > 0) forward(exchange, triesLeft - 1);
      else breakOff();
    });
    answer.on('close', () => outgoing.destroy());
    outgoing.end(body);
  };
  const server = createServer(async (incoming, answer) => {
    const body = await text(incoming);
    seen.push(body);
    forward({ incoming, answer, body }, targets().length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}`,
    seen,
    broken,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
