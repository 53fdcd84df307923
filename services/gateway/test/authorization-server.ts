import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import type { OAuthSettings } from '../src/oauth/settings.ts';

export interface AuthorizationServer {
  issuer: string;
  /** Requested paths, in order. */
  asked: string[];
  /** How it responds from now on; `silent`: it accepts requests and never responds. */
  mode: 'well' | 'broken' | 'silent';
  /** Overrides of its metadata. */
  metadata: Record<string, unknown>;
  /** Signs a user's token; a claim set to undefined is omitted. */
  sign(claims?: object, typ?: string): Promise<string>;
  /** From now on it signs with a new key and no longer publishes the old one. */
  rotate(): Promise<void>;
  publicKey(): JWK;
}

export const audience = 'https://harness.test';

/**
 * A fake authorization server: metadata and keys over HTTP, tokens by jose, and the client credentials grant,
 * whose token is for the requested `resource`.
 */
export async function openAuthorizationServer({ path = '' } = {}): Promise<AuthorizationServer> {
  let key = await newKey('k1');
  let rotations = 1;
  const listener = createServer((request, response) => void answer(request, response));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;

  const server: AuthorizationServer = {
    issuer: origin + path,
    asked: [],
    mode: 'well',
    metadata: {},
    publicKey: () => key.publicJwk,
    async rotate() {
      rotations += 1;
      key = await newKey(`k${rotations}`);
    },
    sign(claims = {}, typ = 'at+jwt') {
      const now = Math.floor(Date.now() / 1000);
      const whole = { iss: server.issuer, aud: audience, sub: 'ada', tenant: 'acme', scope: 'threads tools' };
      const payload = JSON.parse(JSON.stringify({ ...whole, iat: now, exp: now + 300, ...claims }));
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', kid: key.publicJwk.kid as string, typ })
        .sign(key.privateKey);
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    server.asked.push(request.url ?? '');
    if (server.mode === 'silent') return;
    if (server.mode === 'broken') return void response.writeHead(500).end();
    const send = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/jwks') return void send({ keys: [key.publicJwk] });
    if (request.url === `/.well-known/oauth-authorization-server${path}`) {
      return void send({
        issuer: server.issuer,
        jwks_uri: `${origin}/jwks`,
        token_endpoint: `${origin}/token`,
        authorization_endpoint: `${origin}/authorize`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials'],
        ...server.metadata,
      });
    }
    if (request.url === '/token') {
      const asked = new URLSearchParams((await request.toArray()).join(''));
      const token = await server.sign({ aud: asked.get('resource') ?? '', scope: asked.get('scope') ?? '' });
      return void send({ access_token: token, token_type: 'Bearer', expires_in: 300 });
    }
    response.writeHead(404).end();
  }
  return server;
}

async function newKey(kid: string): Promise<{ privateKey: CryptoKey; publicJwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  return { privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
}

/** OAuth settings of a gateway at `audience` that trusts it. */
export const trusting = (
  { issuer }: AuthorizationServer,
  overrides: Partial<OAuthSettings> = {},
): OAuthSettings => ({
  issuer,
  jwksUrl: undefined,
  audiences: [audience, `${audience}/mcp`],
  resources: { rest: audience, mcp: `${audience}/mcp` },
  publicUrl: audience,
  tenantClaim: 'tenant',
  tenant: undefined,
  ...overrides,
});
