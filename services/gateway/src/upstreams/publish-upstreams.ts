import { isDeepStrictEqual } from 'node:util';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Changes } from '../content/list-changes.ts';
import type { UpstreamConfig } from './file/upstream-config.ts';
import type { Link } from './link/link.ts';
import type { Port } from './plugin/forward.ts';
import { type UpstreamPlugin, upstreamPluginOf } from './plugin/upstream-plugin.ts';

/** One upstream of the file. */
export interface UpstreamEntry {
  config: UpstreamConfig;
  /** Undefined while it is disabled. */
  link: Link | undefined;
  port: Port;
  problems: string[];
  /** What its plugin was made from. */
  published: { description: object; uris: readonly string[] } | undefined;
}

/**
 * Returns the function that makes the plugins anew whose upstream has changed, or that offer a URI which belongs to another plugin now:
 * an earlier one of the file, or one that is no upstream.
 */
export function createPublisher(
  deps: { plugins: PluginHost; changes: Changes; logger: Logger; unprefixed: readonly string[] },
  entries: ReadonlyMap<string, UpstreamEntry>,
): () => void {
  const { plugins, logger } = deps;
  const offer = (entry: UpstreamEntry, { plugin, problems }: UpstreamPlugin) => {
    entry.problems = problems;
    try {
      plugins.add(plugin, { tenants: entry.config.tenants });
      const { tools = [], resources = [], prompts = [] } = plugin;
      const counts = { tools: tools.length, resources: resources.length, prompts: prompts.length };
      logger.info({ upstream: plugin.name, version: plugin.version, ...counts }, 'upstream offered');
      for (const problem of problems) logger.warn({ upstream: plugin.name }, problem);
    } catch (error) {
      entry.problems = [`it is not offered: ${(error as Error).message}`, ...problems];
      logger.error({ upstream: plugin.name, err: error }, 'upstream not offered');
    }
  };

  return () => {
    const taken = new Set(
      plugins.plugins
        .filter(({ name }) => !entries.has(name))
        .flatMap(({ resources = [] }) => resources.map(({ uri }) => uri)),
    );
    let isChanged = false;
    for (const entry of entries.values()) {
      const { config, link, port } = entry;
      const description = link?.description;
      if (description) {
        const own = description.catalog.resources.map(({ uri }) => String(uri));
        const uris = own.filter((uri) => !taken.has(uri));
        const now = { description, uris };
        if (!isSame(now, entry.published)) {
          const isUnprefixed = deps.unprefixed.includes(config.name);
          const isTaken = (uri: string) => !uris.includes(uri);
          offer(entry, upstreamPluginOf({ config, description, port, isUnprefixed, isTaken }));
          entry.published = now;
          isChanged = true;
        }
      }
      for (const uri of entry.published?.uris ?? []) taken.add(uri);
    }
    if (isChanged) deps.changes.report(['tools', 'resources', 'prompts']);
  };
}

const isSame = (
  { description, uris }: { description: object; uris: readonly string[] },
  before: UpstreamEntry['published'],
) => description === before?.description && isDeepStrictEqual(uris, before.uris);
