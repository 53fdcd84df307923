import type { PluginDefinition } from '@harness/plugin-kit';

/** A plugin from outside, given by HARNESS_PLUGINS: its tool tells where the call comes from. */
export const plugin: PluginDefinition = {
  name: 'whoami',
  version: '1.0.0',
  tools: [
    {
      name: 'whoami',
      description: 'Tells where the call comes from',
      schema: {},
      handler: (_ctx, _input, { threadId, runId, attempt }) => JSON.stringify({ threadId, runId, attempt }),
    },
  ],
  register: () => ({}),
};
