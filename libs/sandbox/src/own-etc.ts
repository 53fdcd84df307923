import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { homePath, insideId } from './bubblewrap.ts';

const texts: Readonly<Record<string, string>> = {
  passwd: `agent:x:${insideId}:${insideId}::${homePath}:/bin/bash\n`,
  group: `agent:x:${insideId}:\n`,
  hosts: '127.0.0.1 localhost sandbox\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
};

/** Writes the files of /etc that every sandbox has of its own into a folder. Returns their paths by name. */
export function writeOwnEtc(folder: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const path = join(folder, name);
      writeFileSync(path, text, { mode: 0o644 });
      return [name, path];
    }),
  );
}
