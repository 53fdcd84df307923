import { once } from 'node:events';
import { createServer } from 'node:net';
import { ConfigError } from '@harness/runtime';

const explanations: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} on ${host} is taken. Choose another: PORT=${port < 65535 ? port + 1 : 8080} npm start`,
  EACCES: (_host, port) => `Port ${port} is not for ordinary users. Choose another: PORT=8080 npm start`,
  EADDRNOTAVAIL: (host) => `HOST=${host} is not an address of this machine.`,
  ENOTFOUND: (host) => `HOST=${host} is not known.`,
};

/** Binds `host:port` for a moment; throws a ConfigError that says what to do when it cannot be had. */
export async function checkPort(host: string, port: number): Promise<void> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (cause) {
    const explain = explanations[(cause as NodeJS.ErrnoException).code ?? ''];
    throw explain ? new ConfigError(explain(host, port)) : cause;
  }
  server.close();
  await once(server, 'close');
}
