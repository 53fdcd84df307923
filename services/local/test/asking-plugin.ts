import { definePlugin, needInput } from '@harness/plugin-kit';

interface Booking {
  action?: string;
  content?: { city?: string; nights?: number };
}

/** A plugin that asks a person. */
export default definePlugin({
  name: 'travel',
  version: '1.0.0',
  tools: [
    {
      name: 'book',
      description: 'Books a journey',
      schema: { type: 'object', properties: {} },
      handler(_ctx, _input, { inputs }) {
        const { where } = inputs as { where?: Booking };
        if (!where)
          return needInput({
            where: {
              method: 'elicitation/create',
              params: {
                mode: 'form',
                message: 'Where to?',
                requestedSchema: {
                  type: 'object',
                  properties: { city: { type: 'string' }, nights: { type: 'integer' } },
                  required: ['city'],
                },
              },
            },
          });
        const { city, nights } = where.content ?? {};
        return where.action === 'accept' ? `${nights} nights in ${city}` : `not booked: ${where.action}`;
      },
    },
  ],
  register: () => undefined,
});
