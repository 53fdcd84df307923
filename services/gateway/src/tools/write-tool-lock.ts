/** `npm run tools:lock`: accepts the current tools of all configured plugins and upstreams. */
import { runMain } from '@harness/runtime';
import { loadLockConfig } from '../config.ts';
import { describeUpstreams } from '../upstreams/describe-upstreams.ts';
import { loadUpstreams } from '../upstreams/file/upstreams-file.ts';
import { writeToolLock } from './tool-lock-file.ts';

runMain(async () => {
  const { file, modulePaths, leftOut, upstreamsFile, env, unprefixed } = loadLockConfig();
  const { upstreams } = upstreamsFile ? await loadUpstreams(upstreamsFile, env) : { upstreams: [] };
  const enabled = upstreams.filter(({ disabled }) => !disabled);
  const described = await describeUpstreams(enabled, { env, unprefixed });
  const report = await writeToolLock(file, modulePaths, { leftOut, upstreams: described });
  process.stdout.write(`${file}: ${report}\n`);
  process.exit(0); // a plugin's module may keep the process busy
});
