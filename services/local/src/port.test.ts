import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { checkPort } from './port.ts';

async function takePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, server };
}

test('a port in use is an error with a suggestion; a free port is none', async () => {
  const { port, server } = await takePort();
  await expect(checkPort('127.0.0.1', port)).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is in use. Choose another one: PORT=${port + 1} npm start`,
  );
  server.close();
  await once(server, 'close');
  await checkPort('127.0.0.1', port);
});

test('an address of another machine is an error', async () => {
  await expect(checkPort('192.0.2.1', 0)).rejects.toThrow(
    'HOST=192.0.2.1 is not an address of this machine; use one of its addresses, or 127.0.0.1.',
  );
});
