import type { UpstreamConfig } from '../file/upstream-config.ts';

/** Names of variables, options, headers and parameters whose value is a secret, whatever it looks like. */
const isSecretName = (name: string) => /KEY|TOKEN|SECRET|PASS|PWD|AUTH|CRED|SIG|COOKIE|SESSION/i.test(name);
/** Headers that say nothing of who asks. */
const plainHeaders = new Set([
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
  'mcp-protocol-version',
]);
/** A path, a word, a number or a truth value, which is no secret unless its name says so: it is in ordinary text. */
const isOrdinary = (value: string) =>
  /^(?:[.~]?\/[\w./@-]*|[a-z]+(?:[-_][a-z]+)*|[\d.]+|[A-Z]+)$/.test(value);
const isMixed = (text: string) => /\d/.test(text) && /[a-z]/i.test(text);
/** A part of a path that is as long as a key, and as mixed. */
const isKeyLike = (part: string) => part.length >= 20 && isMixed(part);
/** The same for a word of a value that is a secret as a whole. */
const isKeyWord = (word: string) => word.length >= 8 && isMixed(word) && !isUrl(word);

/** `X-Key: value` parses as a URL, too. */
const isUrl = (text: string) => /^[\w+.-]+:\/\//.test(text) && URL.canParse(text);

/** Every secret that the entry of an upstream holds, as written there. */
export const secretsOf = (upstream: UpstreamConfig): string[] => [...new Set(secretsIn(upstream))];

function secretsIn(upstream: UpstreamConfig): string[] {
  if (upstream.kind === 'stdio')
    return [...Object.entries(upstream.env).flatMap(named), ...ofArguments(upstream.args)];
  const { auth } = upstream;
  return [
    ...Object.entries(upstream.headers).flatMap(ofHeader),
    ...(auth ? [auth.clientSecret, `${auth.clientId}:${auth.clientSecret}`] : []),
    ...addressesOf(upstream).flatMap(ofAddress),
  ];
}

function named([name, value]: [string, string]): string[] {
  const inner = isUrl(value) ? ofAddress(value) : [];
  if (!isSecretName(name) && (isOrdinary(value) || isUrl(value))) return inner;
  return [value, ...inner, ...credentialsIn(value), ...wordsOf(value).filter(isKeyWord)];
}

/** Words of a list, of JSON, of a connection string or of a key in lines. */
const wordsOf = (value: string): string[] => value.split(/[\s,;"'{}[\]=]+/);
const credential = /\b(?:bearer|basic|token)\s+([^\s"',;]+)/gi;
const namedCredential = /([\w-]+)["']?\s*[=:]\s*["']?([^\s"',;{}]+)/g;

/** What a text calls by a secret's name: `Bearer x`, `password=x`, `"token": "x"`; and what is secret in its URLs. */
const credentialsIn = (text: string): string[] => [
  ...[...text.matchAll(credential)].map(([, found = '']) => found),
  ...[...text.matchAll(namedCredential)].flatMap(([, name = '', found = '']) =>
    isSecretName(name) && !/^(?:bearer|basic|token)$/i.test(found) ? [found] : [],
  ),
  ...wordsOf(text)
    .filter((word) => isUrl(word))
    .flatMap(ofAddress),
];

/** `--token=x`, `--token x`, `--header "Authorization: x"` and `--db=postgres://user:x@host`. */
function ofArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    const [, option, value] = /^-*([\w-]+)=(.*)$/s.exec(arg) ?? [];
    const [, header, content] = /^([\w-]+)\s*:\s*(.+)$/s.exec(arg) ?? [];
    const before = args[at - 1] ?? '';
    return [
      ...(option !== undefined && value !== undefined && isSecretName(option) ? [value] : []),
      ...(header !== undefined && content !== undefined && isSecretName(header)
        ? ofHeader([header, content])
        : []),
      ...(before.startsWith('-') && !before.includes('=') && isSecretName(before) ? [arg] : []),
      ...(isUrl(arg) ? ofAddress(arg) : credentialsIn(arg)),
    ];
  });
}

function ofHeader([name, value]: [string, string]): string[] {
  if (plainHeaders.has(name.toLowerCase())) return [];
  const [, scheme, credential] = /^([A-Za-z]+)\s+(.+)$/s.exec(value) ?? [];
  const given = [value, ...(credential === undefined ? wordsOf(value).filter(isKeyWord) : [credential])];
  if (scheme?.toLowerCase() === 'basic' && credential)
    return [...given, ...pairOf(Buffer.from(credential, 'base64').toString('utf8'))];
  if (name.toLowerCase() === 'cookie')
    return [...given, ...value.split(';').map((one) => one.slice(one.indexOf('=') + 1).trim())];
  return given;
}

/** `user:password` and the password. */
const pairOf = (pair: string): string[] => [pair, pair.slice(pair.indexOf(':') + 1)];

const addressesOf = (upstream: UpstreamConfig): string[] =>
  [
    ...('url' in upstream ? [upstream.url] : []),
    ...('openapi' in upstream ? [upstream.openapi, upstream.baseUrl] : []),
    ...('auth' in upstream ? [upstream.auth?.issuer, upstream.auth?.tokenUrl] : []),
  ].filter((address) => address !== undefined && isUrl(address)) as string[];

function ofAddress(address: string): string[] {
  const { username, password, searchParams, pathname } = new URL(address);
  const user = decoded(username);
  return [
    // A token is often the user of a URL without a password.
    ...(password !== '' ? pairOf(`${user}:${decoded(password)}`) : user !== '' ? [user] : []),
    ...[...searchParams].flatMap(([name, value]) =>
      isSecretName(name) || !isOrdinary(value) ? [value] : [],
    ),
    ...pathname.split('/').filter(isKeyLike).map(decoded),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
