import type { UpstreamConfig } from '../file/upstream-config.ts';
import { openApiConnection } from '../openapi/openapi-connection.ts';
import { type ConnectDeps, type Connection, type ConnectionEvents, connect } from './connect.ts';

/** Opens a connection to an upstream of any kind. Rejects when it does not answer. */
export const openConnection = (
  upstream: UpstreamConfig,
  events: ConnectionEvents,
  deps: ConnectDeps,
): Promise<Connection> =>
  upstream.kind === 'openapi' ? openApiConnection(upstream, deps) : connect(upstream, events, deps);
