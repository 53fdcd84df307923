/** supergateway by its command, with sessions; only for stdio. `supergateway.ts <its main file> <command> <arguments…>`. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort } from '@harness/runtime';

const [main = '', ...command] = process.argv.slice(2);
const port = await freePort();
const options = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'];
process.argv = [process.execPath, main, '--stdio', command.join(' '), '--port', String(port), ...options];
await import(pathToFileURL(main).href);
for (;;) {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  if (isOpen) break;
  await wait(20);
}
process.send?.({ ready: true, url: `http://127.0.0.1:${port}` });
