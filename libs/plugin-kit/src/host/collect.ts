import type { PluginDefinition, PluginTool } from '../contract/contract.ts';

/** A tool with its owner and its name as clients see it. */
export type CollectedTool = PluginTool & {
  pluginName: string;
  /** `<plugin>__<tool>`, or the bare name. Use `pluginName`, not this name, to find the owner. */
  qualifiedName: string;
};

/** The name of a tool or prompt as clients see it. */
export const qualifiedNameOf = (plugin: PluginDefinition, name: string): string =>
  plugin.prefix === false ? name : `${plugin.name}__${name}`;

/** All tools of validated plugins, in plugin order and, within a plugin, in order of declaration. */
export const collectTools = (plugins: readonly PluginDefinition[]): CollectedTool[] =>
  plugins.flatMap((plugin) =>
    (plugin.tools ?? []).map((tool) => ({
      ...tool,
      // The spread does not copy a method of a class, and such a handler needs its object as `this`.
      handler: Object.hasOwn(tool, 'handler') ? tool.handler : tool.handler.bind(tool),
      pluginName: plugin.name,
      qualifiedName: qualifiedNameOf(plugin, tool.name),
    })),
  );
