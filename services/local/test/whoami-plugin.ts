import type { PluginDefinition } from '@harness/plugin-kit';

/** An outside plugin for HARNESS_PLUGINS, whose tool returns its meta: thread, caller, task. */
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
