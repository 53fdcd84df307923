import { expect, test } from 'vitest';
import { redisAddressOf } from './redis-address.ts';

test('the URL of one server is passed to the client unchanged, a socket becomes a path', () => {
  expect(redisAddressOf('redis://user:pw@host:6380/1')).toBe('redis://user:pw@host:6380/1');
  expect(redisAddressOf('rediss://host')).toBe('rediss://host');
  expect(redisAddressOf('unix:///run/redis.sock')).toEqual({ path: '/run/redis.sock' });
});

test('sentinels: hosts with and without ports, IPv6, name, database, passwords of both', () => {
  const url =
    'redis+sentinel://harness:p%40ss@one:26380,two,[::1]:5/main/2?sentinelUsername=s&sentinelPassword=t%2Fu';
  expect(redisAddressOf(url)).toEqual({
    sentinels: [
      { host: 'one', port: 26380 },
      { host: 'two', port: 26379 },
      { host: '::1', port: 5 },
    ],
    name: 'main',
    username: 'harness',
    password: 'p@ss',
    db: 2,
    sentinelUsername: 's',
    sentinelPassword: 't/u',
    failoverDetector: true,
  });
  expect(redisAddressOf('redis+sentinel://:pw@h/m')).toMatchObject({ password: 'pw', name: 'm' });
});

test('TLS applies to sentinels and servers', () => {
  const secure = { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} };
  expect(redisAddressOf('rediss+sentinel://h/m')).toMatchObject(secure);
});

test.each([
  'http://h',
  'redis://',
  'redis://h:99999',
  'redis://u:secret%zz@h',
  'redis://h/abc',
  'redis://h/1/2',
  'redis://h/-1',
  'unix://',
  'redis+sentinel://h1,h2',
  'redis+sentinel://h1,,h2/m',
  'redis+sentinel://h:99999/m',
  'redis+sentinel://u:secret@h/m?x=1',
  'redis+sentinel://u:secret%@h/m',
])('%s is refused, and the message does not contain the password', (url) => {
  expect(() => redisAddressOf(url)).toThrow(/^REDIS_URL (?!.*secret)/);
});
