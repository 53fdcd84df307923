import { existsSync } from 'node:fs';

const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path));

/**
 * Command prefix that makes the kernel send `signal` to a child when its parent dies, for whatever reason;
 * empty on a platform without `setpriv` (util-linux).
 */
export const pdeathsig = (signal = 'KILL'): string[] =>
  setpriv ? [setpriv, '--pdeathsig', signal, '--'] : [];
