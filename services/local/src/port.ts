/** Checks that a port is free, before the fleet starts. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { ConfigError } from '@harness/runtime';

const explanations: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} on ${host} is in use. Choose another one: PORT=${port < 65535 ? port + 1 : 8080} npm start`,
  EACCES: (_host, port) => `Port ${port} needs administrator rights. Choose another one: PORT=8080 npm start`,
  EADDRNOTAVAIL: (host) =>
    `HOST=${host} is not an address of this machine; use one of its addresses, or 127.0.0.1.`,
  ENOTFOUND: (host) => `HOST=${host} cannot be resolved; use an address of this machine, or 127.0.0.1.`,
};

/** Binds `host:port` for a moment. If that fails, throws a ConfigError with what to do. */
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
