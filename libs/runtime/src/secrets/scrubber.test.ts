import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { createScrubber } from './scrubber.ts';
import { envSecretPatterns, secretValuesOf } from './secret-settings.ts';

const { text, json, line } = createScrubber();
const random = (length: number) => 'aB3xY9kQ7mN2'.repeat(20).slice(0, length);
const pem = (body: string) =>
  ['-----BEGIN RSA PRIV', 'ATE KEY-----\n', body, '\n-----END RSA PRIV', 'ATE KEY-----'].join('');

test.for([
  ['Anthropic', `sk-${'ant'}-api03-${random(40)}`],
  ['this gateway', `hk_${random(43)}`],
  ['JWT', `eyJ${random(20)}.eyJ${random(30)}.${random(43)}`],
  ['OpenAI', `sk-${'proj'}-${random(40)}`],
  ['Stripe', `sk_${'live'}_${random(24)}`],
  ['AWS', `AK${'IA'}ABCDEFGHIJKLMNOP`],
  ['Google', `AI${'za'}${random(35)}`],
  ['Google OAuth', `ya${'29'}.${random(40)}`],
  ['GitHub', `gh${'p'}_${random(36)}`],
  ['GitHub', `github${'_pat_'}${random(40)}`],
  ['Slack', `xox${'b'}-1234567890-${random(24)}`],
  ['PEM', pem('MIIEpAIBAAKCAQEA7\nabc+/=\nDEK-Info: AES-128-CBC')],
  ['PEM, cut', `-----BEGIN PRIV${'ATE KEY'}-----\nMIIEvQIBADANBg`],
] as const)('the format of %s is recognized', ([, secret]) => {
  expect(text(`before ${secret}`)).toBe('before [secret]');
  expect(text(`(${secret}), after`)).not.toContain(secret.slice(0, 12));
});

test.for([
  ['https://user:pass@example.com/a', 'https://[secret]@example.com/a'],
  ['redis://:p%40ss@10.0.0.1:6379/0', 'redis://[secret]@10.0.0.1:6379/0'],
  ['GET /x?a=1&access_token=abcd1234&b=2', 'GET /x?a=1&access_token=[secret]&b=2'],
  ['GET /events?ticket=abcd1234', 'GET /events?ticket=[secret]'],
  ['Authorization: Bearer abcdefgh', 'Authorization: Bearer [secret]'],
  ['x-api-key: abcdefgh', 'x-api-key: [secret]'],
  ['sent bearer abc.def-1234', 'sent bearer [secret]'],
  ['sent Basic dXNlcjpwYXNz0=', 'sent Basic [secret]'],
  ['DB_PASSWORD=hunter2!! refused', 'DB_PASSWORD=[secret] refused'],
  ['aws_secret_access_key=abc/def+ghi', 'aws_secret_access_key=[secret]'],
  [String.raw`{\"apiKey\":\"abc def\"}`, String.raw`{\"apiKey\":\"[secret]\"}`],
  ["{ 'client_secret': 'abc' }", "{ 'client_secret': '[secret]' }"],
] as const)('what stands before a secret marks it: %s', ([given, expected]) => {
  expect(text(given)).toBe(expected);
  expect(text(expected)).toBe(expected);
});

test.for([
  'Send a key or an access token: "Authorization: Bearer <key>".',
  'bearer authentication is required; basic authentication is not accepted',
  'There is no GET http://127.0.0.1:8080/npm/@scope/package',
  'thr_0123456789abcdef0123456789abcdef, run_0123456789abcdef0123456789abcdef, 5c6ff2ab-31b5-4d6a-b2ac-2e6b2b3d8b6a',
  'Unexpected token } in JSON; the password is wrong; inputTokens=1000; task-abcdefghijklmnopqrstuvwxyz',
  'mail to someone@example.com',
])('ordinary text stays: %s', (ordinary) => {
  expect(text(ordinary)).toBe(ordinary);
});

test('values are scrubbed at any depth, with keys and by the names of fields', () => {
  const secret = `hk_${random(43)}`;
  const given = { a: [{ b: `x ${secret}` }], [secret]: 1, password: 'hunter2', count: 3, none: null };
  expect(json(given)).toEqual({
    a: [{ b: 'x [secret]' }],
    '[secret]': 1,
    password: '[secret]',
    count: 3,
    none: null,
  });
  const plain = { a: [{ b: 'x' }] };
  expect(json(plain)).toBe(plain);
});

test('a line stays JSON, whatever is replaced in it', () => {
  const given = {
    msg: `failed:\n${pem('abc"def')}`,
    err: { stack: `Error: sk-${'ant'}-${random(30)}\n    at x` },
    headers: { authorization: 'Bearer a b c' },
  };
  expect(JSON.parse(line(`${JSON.stringify(given)}\n`))).toEqual({
    msg: expect.stringMatching(/^failed:\n\[secret\]/),
    err: { stack: 'Error: [secret]\n    at x' },
    headers: { authorization: '[secret]' },
  });
  const plain = `${JSON.stringify({ msg: 'nothing' })}\n`;
  expect(line(plain)).toBe(plain);
});

test('secrets of the environment are replaced by value, in any spelling', () => {
  const env = {
    HARNESS_API_KEY: 'correct "horse" battery',
    HARNESS_TOKEN_SECRET: 'the new secret,the old secret',
    ANTHROPIC_AUTH_TOKEN: 'plain-word-token',
    ANTHROPIC_API_KEY: 'none', // too short to be replaced
    ANTHROPIC_MODEL: 'claude-sonnet',
    REDIS_URL: 'redis+sentinel://me:p%2Fss%2Fword@h1,h2/name?sentinelPassword=sesame-open',
  };
  const own = createScrubber({ values: secretValuesOf(env) });
  for (const [name, value] of Object.entries(env)) {
    const kept = name === 'ANTHROPIC_MODEL' || value === 'none';
    expect(own.text(`[${value}]`).includes(value)).toBe(kept);
    expect(own.line(JSON.stringify({ msg: `[${value}]` })).includes(JSON.stringify(value).slice(1, -1))).toBe(
      kept,
    );
  }
  expect(own.text('the old secret; p/ss/word; sesame-open; none')).toBe('[secret]; [secret]; [secret]; none');
});

test('patterns of the operator are replaced, and match strings, not lines', () => {
  const own = createScrubber({ patterns: [RE2JS.compile('^corp:.*$'), RE2JS.compile('\\bX-[0-9]{2,}')] });
  expect(own.text('corp: all of it')).toBe('[secret]');
  expect(JSON.parse(own.line(JSON.stringify({ msg: 'corp:"x"', other: 'an X-123' })))).toEqual({
    msg: '[secret]',
    other: 'an [secret]',
  });
});

const patternsOf = (given: string) => envSecretPatterns.HARNESS_SECRET_PATTERNS.safeParse(given);

test.for([
  ['corp-[0-9]{6,8},[a-f,]{40}', ['corp-[0-9]{6,8}', '[a-f,]{40}']],
  ['a,(b,c)\n d\\,e ', ['a', '(b,c)', 'd\\,e']],
  ['', []],
] as const)('HARNESS_SECRET_PATTERNS is a list: %j', ([given, expected]) => {
  expect(patternsOf(given).data?.map((pattern) => pattern.pattern())).toEqual(expected);
});

test.for(['(a', '(?=a)b', '(a)\\1', 'x*'])('a pattern that cannot be used is refused: %s', (given) => {
  const { error } = patternsOf(`good,${given}`);
  expect(error?.issues).toHaveLength(1);
  expect(error?.issues[0]?.message).toContain(JSON.stringify(given));
});

test('the time is linear in the text, whatever it is', () => {
  const size = 1_000_000;
  const fill = (part: string) => part.repeat(size / part.length);
  for (const given of [
    fill('a'),
    fill('sk-'),
    fill('eyJaaaaaaa.'),
    fill('://'),
    fill('bearer '),
    `bearer ${fill('a')}`,
    `authorization:${fill(' ')}`,
    fill('password" '),
    fill(`-----BEGIN PRIV${'ATE'} KEY-----`),
    `-----BEGIN PRIV${'ATE'} KEY-----${fill('-a')}`,
  ]) {
    const begunAt = performance.now();
    text(given);
    expect(performance.now() - begunAt).toBeLessThan(2_000); // quadratic time would be minutes
  }
});

test('a secret that invisible characters split is found, in text and in a log line', () => {
  const split = `sk-${'an'}\u001b[0mt-api03-${'x1'.repeat(10)}\u200b${'x1'.repeat(10)}`;
  expect(text(`key ${split}`)).toBe('key [secret]');
  expect(line(`${JSON.stringify({ msg: split })}\n`)).toBe('{"msg":"[secret]"}\n');
  expect(json({ '\u001b[1mmessage': 'a\u202eb' })).toEqual({ message: 'ab' });
  expect(line('{"msg":"a\\bc"}')).toBe('{"msg":"ac"}');
});
