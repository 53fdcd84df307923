import { existsSync } from 'node:fs';

const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path));

/**
 * Command prefix that makes the kernel kill a child when its parent dies, however it dies; empty where the platform
 * has no `setpriv` (util-linux).
 */
export const pdeathsig = (signal = 'KILL'): string[] =>
  setpriv ? [setpriv, '--pdeathsig', signal, '--'] : [];
