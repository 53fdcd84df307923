import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Connections that have not sent a valid credential yet. */
export interface KeylessConnections {
  /** Called when the connection has sent a valid one. */
  isAuthenticated(socket: Socket): void;
}

/**
 * Bounds the connections without a valid credential, so that strangers cannot use up those that the process may open. A
 * client with a key sends it with its first request, so its connection is never among the oldest. `most`: beyond this number
 * the oldest one is closed.
 */
export function boundKeyless(server: Server, most = 2_000): KeylessConnections {
  const keyless = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    keyless.add(socket);
    socket.once('close', () => keyless.delete(socket));
    const [oldest] = keyless.size > most ? keyless : [];
    oldest?.destroy();
  });
  return { isAuthenticated: (socket) => void keyless.delete(socket) };
}
