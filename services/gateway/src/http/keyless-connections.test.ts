import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { boundKeyless } from './keyless-connections.ts';

test('beyond the limit the oldest connection without a credential is closed; one with a credential stays', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  const keyless = boundKeyless(server, 2);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const open = async () => {
    const arrived = once(server, 'connection') as Promise<[Socket]>;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
    sockets.push(socket);
    const [accepted] = await arrived;
    return { closed: once(socket, 'close').then(() => 'closed'), accepted };
  };
  const known = await open();
  keyless.isAuthenticated(known.accepted);
  const [first, second] = [await open(), await open()];
  const third = await open();
  expect(await first.closed).toBe('closed');
  for (const { accepted } of [known, second, third]) expect(accepted.destroyed).toBe(false);
});
