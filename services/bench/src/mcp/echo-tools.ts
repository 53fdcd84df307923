import { definePlugin } from '@harness/plugin-kit';

/** Input schema of the echo tool, the same for every server. */
export const echoSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', minLength: 1, maxLength: 1000, description: 'Text to repeat' },
    n: { type: 'integer', minimum: 0, maximum: 1000, description: 'A number to carry along' },
  },
  required: ['text', 'n'],
  additionalProperties: false,
} as const;

/** Names of the echo tools. */
export const echoNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `echo_${i}`);
/** Their description. */
export const echoDescription = 'Repeats a text, and passes a number along.';
/** Their result. */
export const echoed = ({ text, n }: { text: string; n: number }) => `${n}: ${text}`;

/** A plugin with `count` equal tools. */
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
