import { definePlugin } from '@harness/plugin-kit';

/** Its tool takes a core for itself. */
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
