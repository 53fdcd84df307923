/** Which tools a client sees through the bridge, and under which names. Everything else about a tool is unchanged. */
import type { BridgeConfig } from './config.ts';

/** The part of a listed tool that the bridge reads. */
export interface Tool {
  name: string;
  annotations?: { readOnlyHint?: boolean; idempotentHint?: boolean };
}

/** A view of the gateway's tools. */
export interface ToolView {
  /** Whether it shows only the tools of one plugin, and nothing but tools. */
  readonly narrow: boolean;
  /** The visible tools, with the names that the client sees. */
  shown<T extends Tool>(tools: readonly T[]): T[];
  /** The gateway's name of a tool; undefined if the view cannot have it. */
  nameOf(shown: string): string | undefined;
}

/** Creates the view; without `plugin` it shows everything. */
export function createToolView({ plugin, bare }: Pick<BridgeConfig, 'plugin' | 'bare'>): ToolView {
  if (plugin === undefined) return { narrow: false, shown: (tools) => [...tools], nameOf: (name) => name };
  const prefix = `${plugin}__`;
  return {
    narrow: true,
    shown: (tools) =>
      tools
        .filter(({ name }) => name.startsWith(prefix))
        .map((tool) => (bare ? { ...tool, name: tool.name.slice(prefix.length) } : tool)),
    nameOf(name) {
      if (bare) return `${prefix}${name}`;
      return name.startsWith(prefix) ? name : undefined;
    },
  };
}
