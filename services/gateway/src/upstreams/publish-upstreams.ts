import { isDeepStrictEqual } from 'node:util';
import type { PluginHost } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Changes } from '../content/list-changes.ts';
import type { UpstreamConfig } from './file/upstream-config.ts';
import type { Link } from './link/link.ts';
import type { Port } from './plugin/forward.ts';
import { isOwnUri } from './plugin/matches-template.ts';
import { type UpstreamPlugin, upstreamPluginOf } from './plugin/upstream-plugin.ts';
import type { UpstreamScrubber } from './secrets/upstream-scrubber.ts';

/** What a plugin was made from: it is made anew when one of these changes. */
interface Published {
  description: object;
  uris: readonly string[];
  /** Its place in the file. */
  rank: number;
}

/** One upstream of the file. */
export interface UpstreamEntry {
  config: UpstreamConfig;
  /** Undefined while it is disabled. */
  link: Link | undefined;
  port: Port;
  scrubber: UpstreamScrubber;
  problems: string[];
  /** What its plugin was made from. */
  published: Published | undefined;
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
  /** Never throws: one upstream must not keep the others away. */
  const offer = (entry: UpstreamEntry, rank: number, make: () => UpstreamPlugin) => {
    const { name } = entry.config;
    entry.problems = [];
    try {
      const { plugin, problems: found } = make();
      const problems = entry.scrubber.json(found);
      entry.problems = problems;
      plugins.add(plugin, { tenants: entry.config.tenants, rank });
      const { tools = [], resources = [], prompts = [] } = plugin;
      const counts = { tools: tools.length, resources: resources.length, prompts: prompts.length };
      logger.info({ upstream: name, version: plugin.version, ...counts }, 'upstream offered');
      for (const problem of problems) logger.warn({ upstream: name }, problem);
    } catch (error) {
      entry.problems = [
        `it is not offered: ${entry.scrubber.json((error as Error).message)}`,
        ...entry.problems,
      ];
      logger.error({ upstream: name, err: error }, 'upstream not offered');
    }
  };

  return () => {
    const taken = new Set(
      plugins.plugins
        .filter(({ name }) => !entries.has(name))
        .flatMap(({ resources = [] }) => resources.map(({ uri }) => uri)),
    );
    let isChanged = false;
    for (const [rank, entry] of [...entries.values()].entries()) {
      const { config, link, port } = entry;
      const description = link?.description;
      if (description) {
        const own = description.catalog.resources.map(({ uri }) => String(uri));
        const uris = own.filter((uri) => !taken.has(uri) && !isOwnUri(uri));
        const now = { description, uris, rank };
        if (!isSame(now, entry.published)) {
          const isUnprefixed = deps.unprefixed.includes(config.name);
          const isTaken = (uri: string) => !uris.includes(uri);
          offer(entry, rank, () => upstreamPluginOf({ config, description, port, isUnprefixed, isTaken }));
          entry.published = now;
          isChanged = true;
        }
      }
      for (const uri of entry.published?.uris ?? []) taken.add(uri);
    }
    if (isChanged) deps.changes.report(['tools', 'resources', 'prompts']);
  };
}

const isSame = (now: Published, before: Published | undefined) =>
  now.description === before?.description &&
  now.rank === before.rank &&
  isDeepStrictEqual(now.uris, before.uris);
