import { definePlugin } from '@harness/plugin-kit';

const running = new Set<string>();

/** Tools whose calls run until they are cancelled. */
export const plugin = definePlugin({
  name: 'slow',
  version: '1.0.0',
  tools: [
    {
      name: 'endless',
      description: 'Reports progress, and ends when it is cancelled. ‹ünïcode›',
      schema: { type: 'object', properties: { key: { type: 'string' } }, $defs: { a: { const: [] } } },
      title: 'Endless',
      outputSchema: { type: 'object', properties: { key: { type: 'string' } } },
      annotations: { openWorldHint: false },
      async handler(_ctx, input, meta) {
        const key = String(input.key);
        running.add(key);
        meta.progress(1, 2, key);
        await new Promise((resolve) => meta.signal.addEventListener('abort', resolve));
        running.delete(key);
        return { content: [], structuredContent: { key } };
      },
    },
    {
      name: 'running',
      description: 'Names the running calls',
      schema: {},
      annotations: { readOnlyHint: true },
      handler: () => [...running].join(' '),
    },
  ],
  register: () => ({}),
});
