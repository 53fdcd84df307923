import type { PluginDefinition } from '../contract/contract.ts';
import { qualifiedNameOf } from './collect.ts';

/** Finds names that two plugins of one host use. */
export interface NameClashes {
  /**
   * Why the plugin cannot run: it has a bare name that it may not have, or a tool name of a plugin before it.
   * Otherwise undefined, and its tool names are taken.
   */
  refusalOf(plugin: PluginDefinition): string | undefined;
  /** Prompts and resources of the plugin that are not offered, because a plugin before it has the name or URI. */
  hiddenBy(plugin: PluginDefinition): string[];
}

/** `unprefixed`: plugins that may have bare names. */
export function createNameClashes(unprefixed: readonly string[]): NameClashes {
  /** The names and URIs in use, each with the plugin that has it. */
  const taken = {
    tools: new Map<string, string>(),
    prompts: new Map<string, string>(),
    resources: new Map<string, string>(),
  };
  return {
    refusalOf(plugin) {
      const { name, prefix, tools = [] } = plugin;
      if (prefix === false && !unprefixed.includes(name))
        return 'it asks for bare names (prefix: false), which only plugins named in HARNESS_UNPREFIXED_PLUGINS may have';
      if (prefix === false && tools.some((tool) => tool.name.includes('__')))
        return 'a bare tool name must not contain "__": it would look like another plugin’s';
      const names = tools.map((tool) => qualifiedNameOf(plugin, tool.name));
      const clash = names.find((one) => taken.tools.has(one));
      if (clash) return `its tool "${clash}" has the same name as a tool of ${taken.tools.get(clash)}`;
      for (const one of names) taken.tools.set(one, name);
      return undefined;
    },
    hiddenBy(plugin) {
      const { name, prompts = [], resources = [] } = plugin;
      const offers = [
        {
          kind: 'prompt',
          names: prompts.map((prompt) => qualifiedNameOf(plugin, prompt.name)),
          owners: taken.prompts,
        },
        { kind: 'resource', names: resources.map(({ uri }) => uri), owners: taken.resources },
      ];
      return offers.flatMap(({ kind, names, owners }) =>
        names.flatMap((one) => {
          const owner = owners.get(one);
          if (owner === undefined) owners.set(one, name);
          if (owner === undefined || owner === name) return [];
          return `its ${kind} "${one}" is not offered while the ${kind} of ${owner} with the same name is`;
        }),
      );
    },
  };
}
