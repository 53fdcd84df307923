/** Loaded into a server before its main (NODE_OPTIONS --import): at SIGUSR2 it collects all garbage at once. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  for (let n = 0; n < 4; n++) collect();
});
