import { isDeepStrictEqual } from 'node:util';
import type { Dispatch } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Changes } from '../content/list-changes.ts';
import type { FollowedFile } from '../follow-file.ts';
import type { ChildSlots } from './connection/child-slots.ts';
import type { UpstreamConfig } from './file/upstream-config.ts';
import type { UpstreamsFile } from './file/upstreams-file.ts';
import { createLink, type Link } from './link/link.ts';
import { createOwnedLink } from './link/owned-link.ts';
import { uriBehind } from './plugin/upstream-plugin.ts';
import { createPublisher, type UpstreamEntry } from './publish-upstreams.ts';
import type { UpstreamSandboxes } from './sandbox/upstream-sandboxes.ts';
import { createUpstreamScrubber } from './secrets/upstream-scrubber.ts';

/** What following upstreams needs. */
export interface UpstreamsDeps {
  /** Undefined: there are no upstreams. */
  file: Pick<FollowedFile<UpstreamsFile>, 'current' | 'onChange' | 'problem'> | undefined;
  /** The gateway's environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** Plugins that may have bare names. */
  unprefixed: readonly string[];
  /** Most child processes of this gateway. Default: 32. */
  maxChildren?: number | undefined;
  plugins: PluginHost;
  dispatch: Dispatch;
  changes: Changes;
  logger: Logger;
}

/** The upstreams of the file, each with its link while it is enabled. */
export interface UpstreamEntries {
  /** By name, in the order of the file. */
  entries: ReadonlyMap<string, UpstreamEntry>;
  /** Makes the entries what the file and the enabled plugins are now: links what is new, ends what is gone or has changed. */
  sync(): void;
  /** Ends every link. */
  close(): Promise<void>;
}

/** Creates the entries, empty until the first `sync`. */
export function createUpstreamEntries(
  deps: UpstreamsDeps & {
    file: Pick<FollowedFile<UpstreamsFile>, 'current'>;
    children: ChildSlots;
    sandboxes: UpstreamSandboxes;
  },
): UpstreamEntries {
  const { file, plugins, dispatch, sandboxes } = deps;
  const entries = new Map<string, UpstreamEntry>();
  const publish = createPublisher(deps, entries);
  /** The links of a name that are ending: the next one of that name waits for them. */
  const ends = new Map<string, Promise<unknown>>();

  const unlink = (entry: UpstreamEntry) => {
    const { link, config } = entry;
    if (!link) return;
    entry.link = undefined;
    ends.set(config.name, Promise.all([ends.get(config.name), link.close()]));
  };
  const remove = (entry: UpstreamEntry) => {
    const { name } = entry.config;
    entries.delete(name);
    unlink(entry);
    if (!entry.published) return;
    plugins.remove(name);
    deps.changes.report(['tools', 'resources', 'prompts']);
  };
  /** Announces to the fleet that a resource has changed, under the URI that this gateway offers it by. */
  const announce = ({ config, link, published }: UpstreamEntry, uri: string) => {
    const isListed = link?.description?.catalog.resources.some((one) => one.uri === uri);
    const isBehind = isListed && !published?.uris.includes(uri);
    dispatch.replicas
      .broadcast({ kind: 'resource_updated', uri: isBehind ? uriBehind(config.name, uri) : uri })
      .catch((error) =>
        deps.logger.debug({ err: error, uri }, 'upstream: change of a resource not announced'),
      );
  };
  const linkOf = (entry: UpstreamEntry): Link => {
    const { config, scrubber } = entry;
    // A child is started once in the fleet, and the state of a thread is at one place.
    const isOwned = config.kind === 'stdio' || config.scope === 'thread';
    return (isOwned ? createOwnedLink : createLink)({
      ...deps,
      config,
      scrubber,
      after: ends.get(config.name),
      sessions: dispatch.storeOf({ plugin: '@upstream-sessions', tenant: undefined }),
      onDescribed: publish,
      onResourceUpdated: (uri) => announce(entry, uri),
    });
  };

  return {
    entries,
    sync() {
      const { upstreams } = file.current();
      for (const entry of entries.values())
        if (!upstreams.some((one) => isDeepStrictEqual(one, entry.config))) remove(entry);
      for (const config of upstreams) {
        const entry = entries.get(config.name) ?? entryOf(config);
        // Last again, so that all are in the order of the file.
        entries.delete(config.name);
        entries.set(config.name, entry);
        const isOn = !config.disabled && plugins.isEnabled(config.name);
        if (isOn && sandboxOf(config)) void sandboxes.probed();
        if (isOn && !entry.link) entry.link = linkOf(entry);
        if (!isOn) unlink(entry);
      }
      publish();
    },
    async close() {
      for (const entry of entries.values()) unlink(entry);
      await Promise.all(ends.values());
    },
  };
}

/** What the entry of an upstream asks of a sandbox; undefined: nothing. */
export const sandboxOf = (config: UpstreamConfig) => (config.kind === 'stdio' ? config.sandbox : undefined);

function entryOf(config: UpstreamConfig): UpstreamEntry {
  const linkNow = () => {
    if (!entry.link) throw new Error(`${config.name} is disabled`);
    return entry.link;
  };
  const entry: UpstreamEntry = {
    config,
    link: undefined,
    scrubber: createUpstreamScrubber(config),
    problems: [],
    published: undefined,
    port: {
      request: (request, hooks) => linkNow().request(request, hooks),
      subscribe: (uri) => linkNow().subscribe(uri),
    },
  };
  return entry;
}
