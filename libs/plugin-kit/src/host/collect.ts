import type { PluginDefinition, PluginTool } from '../contract/contract.ts';

export type CollectedTool = PluginTool & {
  pluginName: string;
  /** `<plugin>__<tool>`, or the bare name; whose it is says `pluginName`, not the name. */
  qualifiedName: string;
};

/** A tool's or prompt's name as clients see it. */
export const qualifiedNameOf = (plugin: PluginDefinition, name: string): string =>
  plugin.prefix === false ? name : `${plugin.name}__${name}`;

/** All tools of validated plugins, in plugin order and, within a plugin, as they are declared. */
export const collectTools = (plugins: readonly PluginDefinition[]): CollectedTool[] =>
  plugins.flatMap((plugin) =>
    (plugin.tools ?? []).map((tool) => ({
      ...tool,
      // A handler that is a method of a class is not copied by the spread and needs its object.
      handler: Object.hasOwn(tool, 'handler') ? tool.handler : tool.handler.bind(tool),
      pluginName: plugin.name,
      qualifiedName: qualifiedNameOf(plugin, tool.name),
    })),
  );
