/** Which tools a client sees through the bridge, and by which names. All else about a tool is the gateway's, untouched. */
import type { BridgeConfig } from './config.ts';

export interface Tool {
  name: string;
  annotations?: { readOnlyHint?: boolean; idempotentHint?: boolean };
}

export interface ToolView {
  /** Whether it shows tools of one plugin, and nothing but tools. */
  readonly narrow: boolean;
  shown<T extends Tool>(tools: readonly T[]): T[];
  /** The gateway's name of a tool; undefined when there is none of that name to be seen. */
  nameOf(shown: string): string | undefined;
}

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
