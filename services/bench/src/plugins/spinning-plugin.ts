import { definePlugin } from '@harness/plugin-kit';

/** A plugin whose tool keeps one core busy. */
export const plugin = definePlugin({
  name: 'spinning',
  version: '1.0.0',
  tools: [
    {
      name: 'spin',
      description: 'Spins',
      schema: { type: 'object' },
      handler(_ctx, { ms }) {
        const end = performance.now() + Number(ms);
        while (performance.now() < end);
        return 'spun';
      },
    },
  ],
  register: () => undefined,
});
