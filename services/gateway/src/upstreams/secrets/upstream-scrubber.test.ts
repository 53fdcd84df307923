import { expect, it } from 'vitest';
import { parseUpstream } from '../file/upstream-config.ts';
import { createUpstreamScrubber } from './upstream-scrubber.ts';
import { secretsOf } from './upstream-secrets.ts';

const upstreamOf = (entry: object) => parseUpstream('one', entry, () => undefined);

it('finds the secrets of an entry, and leaves ordinary values', () => {
  const http = upstreamOf({
    url: 'https://ada:pass%20word@x.example/s/0123456789abcdefghij01/mcp?key=abc&mode=fast&sig=f00',
    headers: { Authorization: 'Bearer of-the-header', Accept: 'text/plain', Cookie: 'a=of-the-cookie; b=2' },
    auth: { clientId: 'me', clientSecret: 'of-the-client', issuer: 'https://y.example' },
  });
  expect(secretsOf(http)).toEqual([
    ...['Bearer of-the-header', 'of-the-header', 'a=of-the-cookie; b=2', 'of-the-cookie', '2'],
    ...[
      'of-the-client',
      'me:of-the-client',
      'ada:pass word',
      'pass word',
      'abc',
      'f00',
      '0123456789abcdefghij01',
    ],
  ]);
  const stdio = upstreamOf({
    command: 'x',
    args: [
      '--api-key=of-args',
      '--token',
      'next-arg',
      '--header',
      'X-Auth: of-header',
      '--mode',
      'fast',
      'https://u:of-url@z.example',
    ],
    env: { PASS: 'word', LEVEL: 'debug', HOME: '/root', OTHER: 'x9-mixed', DB: 'redis://:of-db@h' },
  });
  expect(secretsOf(stdio)).toEqual([
    ...['word', 'x9-mixed', ':of-db', 'of-db', 'of-args', 'next-arg', 'of-header', 'u:of-url', 'of-url'],
  ]);
});

it('finds the secrets within values: JSON, lists, headers, connection strings, keys in lines', () => {
  const lines = '-----BEGIN PRIVATE KEY-----\nline4line4line\n-----END PRIVATE KEY-----';
  const scrubber = createUpstreamScrubber(
    upstreamOf({
      command: 'x',
      args: ['--dsn=postgres://bob:in-dsn@db/x', '-e', 'PG=host=db password=in-argument', '/srv/v2/main2.js'],
      env: {
        OPENAPI_MCP_HEADERS:
          '{"Authorization": "Bearer in-json", "X-Key": "in-key", "Version": "2022-06-28"}',
        AUTH_HEADER: 'Bearer in-header',
        EXTRA: 'X-One: 1, X-Api-Key: in-extra',
        KEYS: 'of1list1,of2list2',
        LINES: lines,
      },
    }),
  );
  const secrets = ['in-dsn', 'in-argument', 'in-json', 'in-key', 'in-header', 'in-extra'];
  for (const secret of [...secrets, 'of1list1', 'of2list2', 'line4line4line'])
    expect(scrubber.json(`refused: ${secret}.`)).toBe('refused: [secret].');
  const ordinary = 'Bearer, 2022-06-28, bob, password, postgres, PRIVATE, /srv/v2/main2.js';
  expect(scrubber.json(ordinary)).toBe(ordinary);
});

it('replaces every spelling, and nothing that is short', () => {
  const secret = 'p@ss "wörd"/+1';
  const scrubber = createUpstreamScrubber(upstreamOf({ command: 'x', env: { TOKEN: secret, KEY: 'abc' } }));
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const spellings = [
    secret,
    `Bearer ${secret}`,
    JSON.stringify({ secret }),
    JSON.stringify(JSON.stringify({ secret })),
    JSON.stringify({ secret }).replaceAll('/', '\\/'),
    JSON.stringify({ secret }).replaceAll('ö', '\\u00f6'),
    'p@ss &quot;wörd&quot;/+1',
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ secret }).toString(),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('base64url'),
    ...['', 'a', 'ab', 'abc', 'user:'].map((before) => base64(`${before}${secret}`)),
    base64(`user:${secret}, and more`),
  ];
  for (const one of spellings) {
    const clean = scrubber.json(`<${one}>`);
    expect([one, clean]).toEqual([one, expect.stringContaining('[secret]')]);
    for (const part of ['p@ss', 'wörd', 'cEBzcy', 'BAc3Mg', 'AcHNzI', '70407373', 'p%40ss'])
      expect(clean).not.toContain(part);
  }
  expect(scrubber.json({ [secret]: ['abc'] })).toEqual({ '[secret]': ['abc'] });
  expect(scrubber.json('a-token-that-is-new')).toBe('a-token-that-is-new');
  scrubber.learn('a-token-that-is-new');
  expect(scrubber.json('Bearer a-token-that-is-new')).toBe('Bearer [secret]');
});
