/**
 * The address of Redis, from `REDIS_URL`:
 *   redis://[user:password@]host[:6379][/db]      one server; rediss:// with TLS
 *   unix:///absolute/path.sock                    one server on this machine
 *   redis+sentinel://[user:password@]host[:26379],host[:26379]…/name[/db][?sentinelUsername=…&sentinelPassword=…]
 *       the primary that these sentinels call `name`; rediss+sentinel:// with TLS to sentinels and servers.
 *       User and password before the hosts are those of the servers, those after `?` of the sentinels. All are
 *       percent-encoded.
 * TLS certificates are checked against the system's authorities and NODE_EXTRA_CA_CERTS.
 */
import type { RedisOptions } from 'ioredis';
import { z } from 'zod';
import { ConfigError, envInteger } from './config.ts';

type Address = Pick<
  RedisOptions,
  | 'path'
  | 'sentinels'
  | 'name'
  | 'username'
  | 'password'
  | 'db'
  | 'tls'
  | 'enableTLSForSentinelMode'
  | 'sentinelUsername'
  | 'sentinelPassword'
  | 'sentinelTLS'
  | 'failoverDetector'
>;

/** The password stands apart: in its place the scrubber of logs would replace it. */
const example =
  'redis+sentinel://host1:26379,host2:26379,host3:26379/name, with user:password@ before host1 if needed';
const sentinelPort = 26379;
const group =
  /^(?<scheme>rediss?)\+sentinel:\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]+)\/(?<name>[^/?]+)(?:\/(?<db>\d+))?\/?(?:\?(?<query>.*))?$/;
const oneHost = /^(?<host>\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/i;

/**
 * A URL that ioredis reads itself, or its options. Throws ConfigError, without the password, for any other
 * URL.
 */
export function redisAddressOf(url: string): string | Address {
  if (/^unix:\/\/\/./.test(url)) return { path: url.slice('unix://'.length) };
  if (/^rediss?:\/\//.test(url)) return checked(url);
  if (!/^rediss?\+sentinel:\/\//.test(url))
    throw new ConfigError(
      `REDIS_URL must begin with redis://, rediss://, redis+sentinel://, rediss+sentinel:// or unix:///; with sentinels it is ${example}.`,
    );
  const parts = group.exec(url)?.groups;
  const sentinels = parts?.hosts?.split(',').map(sentinelOf);
  if (!parts || !sentinels?.every((one) => one !== undefined))
    throw new ConfigError(`REDIS_URL with sentinels must look like ${example}.`);
  const query = new URLSearchParams(parts.query);
  const tls = parts.scheme === 'rediss';
  return {
    sentinels,
    name: decoded(parts.name),
    ...(parts.user && { username: decoded(parts.user) }),
    ...(parts.password && { password: decoded(parts.password) }),
    ...(parts.db && { db: Number(parts.db) }),
    ...sentinelSecrets(query),
    ...(tls && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
    // Sentinels announce a fail-over: a connection to a primary that hangs is then closed at once, not after
    // its time limit.
    failoverDetector: true,
  };
}

/** The client would take a wrong database for 0, and an absent host for this machine. */
function checked(url: string): string {
  if (!URL.canParse(url))
    throw new ConfigError('REDIS_URL is not a valid URL: check its host and port, and its percent-encoding.');
  const { hostname, pathname, username, password, search, hash } = new URL(url);
  for (const part of [username, password]) decoded(part);
  if (hostname === '') throw new ConfigError('REDIS_URL has no host.');
  if (search !== '' || hash !== '')
    throw new ConfigError('REDIS_URL may have no parameters, except with sentinels.');
  if (!/^(\/\d*)?$/.test(pathname))
    throw new ConfigError('REDIS_URL may have only the number of a database after the host, as in /1.');
  return url;
}

/** Schema of `REDIS_URL` in a service's configuration. */
export const envRedisUrl = z.string().superRefine((url, context) => {
  try {
    redisAddressOf(url);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message.replace(/^REDIS_URL /, '') });
  }
});

/**
 * Schema of `HARNESS_REDIS_ACKS`: replicas that must confirm a write before its outcome is reported; 0 =
 * none.
 */
export const envRedisAcks = envInteger(0, 9).default(0);

function sentinelOf(text: string) {
  const parts = oneHost.exec(text.trim())?.groups;
  const port = Number(parts?.port ?? sentinelPort);
  if (!parts?.host || port < 1 || port > 65_535) return undefined;
  return { host: parts.host.replace(/^\[|\]$/g, ''), port };
}

function sentinelSecrets(query: URLSearchParams): Address {
  const secrets: Address = {};
  for (const [name, value] of query) {
    if (name === 'sentinelUsername' || name === 'sentinelPassword') secrets[name] = value;
    else throw new ConfigError(`REDIS_URL has the unknown parameter "${name}".`);
  }
  return secrets;
}

function decoded(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '');
  } catch {
    throw new ConfigError('REDIS_URL has a % that begins no percent-encoded character: write it as %25.');
  }
}
