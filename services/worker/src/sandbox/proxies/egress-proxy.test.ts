import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { addressFor, isHostAllowed, isPublicAddress, openEgressProxy } from './egress-proxy.ts';

test.each([
  ['93.184.216.34', true],
  ['2606:2800:220:1::1', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['169.254.169.254', false],
  ['172.31.255.255', false],
  ['192.168.0.1', false],
  ['100.64.0.1', false],
  ['0.0.0.0', false],
  ['224.0.0.1', false],
  ['::1', false],
  ['::ffff:10.0.0.1', false],
  ['64:ff9b::a00:1', false],
  ['fd00::1', false],
  ['fe80::1', false],
  ['nonsense', false],
])('%s is public: %s', (address, isPublic) => expect(isPublicAddress(address)).toBe(isPublic));

test('a host is allowed by its name, or below a name', () => {
  const hosts = ['api.example.com', '*.example.org'];
  const allowed = (host: string) => isHostAllowed(host, hosts);
  expect(['api.example.com', 'API.example.com.', 'a.example.org', 'a.b.example.org'].map(allowed)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(
    ['example.com', 'x.api.example.com', 'example.org', 'badexample.org', 'example.org.evil.net', ''].map(
      allowed,
    ),
  ).toEqual([false, false, false, false, false, false]);
});

test('one address that is not public, another port and an address in place of a name are refused', async () => {
  const resolve = async () => ['93.184.216.34', '10.0.0.1'];
  const rules = { hosts: ['a.example'], resolve };
  await expect(addressFor({ host: 'a.example', port: 443 }, rules)).rejects.toThrow('not public');
  await expect(addressFor({ host: 'a.example', port: 22 }, rules)).rejects.toThrow('port 22');
  await expect(addressFor({ host: '93.184.216.34', port: 443 }, rules)).rejects.toThrow('not among');
  await expect(addressFor({ host: '127.0.0.1', port: 443 }, { hosts: ['127.0.0.1'] })).rejects.toThrow(
    'not public',
  );
  expect(
    await addressFor({ host: 'a.example', port: 443 }, { ...rules, resolve: async () => ['93.184.216.34'] }),
  ).toBe('93.184.216.34');
});

/** A web server on this machine, which the rules take for a public one named `site.example`. */
async function openSite() {
  const seen: (string | undefined)[] = [];
  const site = createServer((asked, response) => {
    seen.push(`${asked.method} ${asked.url} ${asked.headers.host}`);
    response.end(asked.url === '/slow' ? undefined : 'hello');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => site.once('listening', resolve));
  const dir = await mkdtemp(join(tmpdir(), 'egress-'));
  const { port } = site.address() as AddressInfo;
  const rules = {
    hosts: ['site.example'],
    resolve: async () => ['127.0.0.1'],
    isPublic: () => true,
    ports: [port],
  };
  const proxy = await openEgressProxy(join(dir, 'net'), rules, createLogger('worker', 'silent'));
  onTestFinished(async () => {
    await proxy.close();
    site.close();
    await rm(dir, { recursive: true });
  });
  const plain = (url: string) =>
    new Promise<[number | undefined, string]>((resolve, reject) => {
      request({ socketPath: proxy.socketPath, path: url, method: 'GET' }, (response) => {
        text(response).then((body) => resolve([response.statusCode, body]), reject);
      })
        .on('error', reject)
        .end();
    });
  const tunnel = (target: string, send: string) =>
    new Promise<string>((resolve) => {
      let all = '';
      const socket = connect(proxy.socketPath, () =>
        socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`),
      );
      socket.on('data', (chunk) => {
        if (all === '' && send !== '') socket.write(send);
        all += String(chunk);
      });
      socket.on('close', () => resolve(all));
      socket.on('error', () => undefined);
    });
  return { proxy, port, seen, plain, tunnel };
}

test('during a turn plain requests and tunnels reach an allowed host; others are refused with the reason', async () => {
  const { proxy, port, seen, plain, tunnel } = await openSite();
  const url = `http://site.example:${port}/a?b=1`;
  expect(await plain(url)).toEqual([403, expect.stringContaining('no turn is in progress')]);
  proxy.open();
  expect(await plain(url)).toEqual([200, 'hello']);
  const get = `GET /tunnel HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n`;
  expect(await tunnel(`site.example:${port}`, get)).toMatch(
    /^HTTP\/1\.1 200 Connection Established[\s\S]*hello$/,
  );
  expect(seen).toEqual([`GET /a?b=1 site.example:${port}`, 'GET /tunnel site.example']);
  expect(await plain(`http://other.example:${port}/`)).toEqual([
    403,
    expect.stringContaining('not among HARNESS_EGRESS'),
  ]);
  expect(await tunnel(`other.example:${port}`, '')).toMatch(
    /^HTTP\/1\.1 403 [\s\S]*not among HARNESS_EGRESS/,
  );
  expect((await plain('/v1/messages'))[0]).toBe(403);
});

test('the end of a turn ends its connections', async () => {
  const { proxy, port, tunnel, seen } = await openSite();
  proxy.open();
  const left = tunnel(
    `site.example:${port}`,
    `POST /slow HTTP/1.1\r\nHost: site.example\r\nContent-Length: 9\r\n\r\n`,
  );
  await expect.poll(() => seen.length).toBe(1);
  proxy.shut();
  expect(await left).toContain('200 Connection Established');
});
