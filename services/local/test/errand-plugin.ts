import { setTimeout as after } from 'node:timers/promises';
import type { PluginDefinition } from '@harness/plugin-kit';

const schema = { type: 'object' };

/** Slow tools that report which gateway runs them (the parent of their host process). */
export const plugin: PluginDefinition = {
  name: 'errand',
  version: '1.0.0',
  tools: [
    {
      name: 'short',
      description: 'Gives back its text after a while',
      schema,
      async handler(_ctx, { text, ms }) {
        await after(Number(ms));
        return String(text);
      },
    },
    {
      name: 'endless',
      description: 'Tells where it runs, and goes on until it is given up',
      schema,
      timeoutMs: 120_000,
      async handler(_ctx, _input, { progress, signal }) {
        progress(process.ppid);
        await after(120_000, undefined, { signal });
        return 'the end';
      },
    },
    {
      name: 'relist',
      description: 'Says that tools have changed',
      schema,
      async handler({ notify }) {
        await notify.listChanged('tools');
        return 'told';
      },
    },
  ],
  register: () => undefined,
};
