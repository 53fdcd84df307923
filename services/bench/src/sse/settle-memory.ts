/** Preloaded into a server (NODE_OPTIONS --import): collects all garbage on SIGUSR2. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  for (let n = 0; n < 4; n++) collect();
});
