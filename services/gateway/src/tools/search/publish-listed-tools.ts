import type { AppDeps } from '../../app-deps.ts';
import type { Changes } from '../../content/list-changes.ts';
import { listedCountOf } from './with-tool-search.ts';

/** Tells the workers how many tools sessions list, now and after changes. Returns the function that stops. */
export function publishListedTools(
  { plugins, dispatch, logger, toolSearch = 'auto' }: AppDeps,
  changes: Changes,
): () => Promise<void> {
  let published: number | undefined;
  const publish = () => {
    const count = listedCountOf(plugins.toolServer?.list({ isSession: true }) ?? [], toolSearch);
    if (count === published) return;
    published = count;
    dispatch.listedTools.set(count).catch((error) => {
      published = undefined; // the next change tries again
      logger.debug({ err: error }, 'the number of tools was not published');
    });
  };
  publish();
  const stop = changes.onChange((change) => {
    if ('list' in change && change.list === 'tools' && !change.keyId) publish();
  });
  return async () => stop();
}
