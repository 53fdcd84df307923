import { definePlugin, type PluginDefinition } from '@harness/plugin-kit';

/** A plugin whose tool `counter__count` counts its calls; `ran()`: how many there were. */
export function createCounter(): { plugin: PluginDefinition; ran(): number } {
  let ran = 0;
  const plugin = definePlugin({
    name: 'counter',
    version: '1.0.0',
    tools: [{ name: 'count', description: 'Counts', schema: {}, handler: () => `${++ran}` }],
    register: () => ({}),
  });
  return { plugin, ran: () => ran };
}
