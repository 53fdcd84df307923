import { definePlugin } from '@harness/plugin-kit';

/** Input of the echo tool, the same for every contender. */
export const echoSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', minLength: 1, maxLength: 1000, description: 'What to say again' },
    n: { type: 'integer', minimum: 0, maximum: 1000, description: 'A number to carry along' },
  },
  required: ['text', 'n'],
  additionalProperties: false,
} as const;

export const echoNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `echo_${i}`);
export const echoDescription = 'Says again what it was told, and carries a number along.';
export const echoed = ({ text, n }: { text: string; n: number }) => `${n}: ${text}`;

/** `count` equal tools, so that only their number differs. */
export const echoPlugin = (count: number) =>
  definePlugin({
    name: 'bench',
    version: '1.0.0',
    tools: echoNames(count).map((name) => ({
      name,
      description: echoDescription,
      schema: echoSchema,
      handler: (_ctx, input) => echoed(input as { text: string; n: number }),
    })),
    register: () => undefined,
  });
