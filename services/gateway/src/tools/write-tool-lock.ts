/** `npm run tools:lock`: accepts the current tools of all configured plugins. */
import { runMain } from '@harness/runtime';
import { loadLockConfig } from '../config.ts';
import { writeToolLock } from './tool-lock-file.ts';

runMain(async () => {
  const { file, modulePaths, leftOut } = loadLockConfig();
  process.stdout.write(`${file}: ${await writeToolLock(file, modulePaths, leftOut)}\n`);
  process.exit(0); // a plugin's module may keep the process busy
});
