import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import { ConfigError } from '@harness/runtime';

/** Returns the address of the client that sent a request. */
export type AddressOf = (request: IncomingMessage) => string;

/**
 * Reads the client's address. `X-Forwarded-For` is believed only as far as trusted proxies have written it: addresses,
 * networks (`10.0.0.0/8`), or `loopback`, `linklocal`, `uniquelocal`. Throws ConfigError for another entry.
 */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  try {
    const trust = proxyAddr.compile([...trustedProxies]);
    return (request) => plain(proxyAddr(request, trust) ?? '');
  } catch (error) {
    throw new ConfigError(
      `HARNESS_TRUSTED_PROXIES: ${(error as Error).message}. Name addresses, networks like 10.0.0.0/8, or loopback, linklocal, uniquelocal.`,
    );
  }
}

/** Node shows an IPv4 address on a dual-stack socket as an IPv6 one. */
const plain = (address: string) => (address.startsWith('::ffff:') ? address.slice(7) : address);
