import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A plain load balancer: each request goes to the next target, whoever asks. Bodies and streams pass as they come. */
export async function openRoundRobin(
  targets: () => readonly string[],
): Promise<{ url: string; close(): Promise<void> }> {
  let turn = 0;
  const server = createServer((incoming, answer) => {
    const urls = targets();
    const { hostname, port } = new URL(urls[turn++ % urls.length] ?? '');
    const { method = 'GET', url: path = '/', headers } = incoming;
    const outgoing = httpRequest({ hostname, port, method, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
      response.on('error', () => answer.destroy());
    });
    outgoing.on('error', () => answer.destroy());
    answer.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
