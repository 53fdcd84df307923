/**
 * What the official MCP conformance suite expects of a server, implemented by the public plugin contract. The suite
 * calls bare names, so the gateway's configuration must allow them (HARNESS_UNPREFIXED_PLUGINS=conformance).
 */
import { setTimeout as after } from 'node:timers/promises';
import {
  definePlugin,
  defineTool,
  needInput,
  type PluginPrompt,
  type PluginResource,
  type PluginTool,
} from '@harness/plugin-kit';
import { askingTools, form } from './asking-tools.ts';
import { pixelPng, silenceWav } from './media.ts';
import { taskTools } from './task-tools.ts';

const schema = { type: 'object', properties: {} };
const text = (value: string) => ({ type: 'text' as const, text: value });
const image = { type: 'image' as const, data: pixelPng, mimeType: 'image/png' };
const stepMs = 20;

type Plain = Omit<PluginTool, 'description' | 'schema'> & Partial<PluginTool>;
const tool = (own: Plain) => defineTool({ description: `Conformance: ${own.name}`, schema, ...own });

const tools: PluginTool[] = [
  tool({ name: 'test_simple_text', handler: () => 'This is a simple text response for testing.' }),
  tool({ name: 'test_image_content', handler: () => ({ content: [image] }) }),
  tool({
    name: 'test_audio_content',
    handler: () => ({ content: [{ type: 'audio', data: silenceWav, mimeType: 'audio/wav' }] }),
  }),
  tool({
    name: 'test_embedded_resource',
    handler: () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  }),
  tool({
    name: 'test_multiple_content_types',
    handler: () => ({
      content: [
        text('Multiple content types test:'),
        image,
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  }),
  tool({
    name: 'test_tool_with_logging',
    async handler(_ctx, _input, { log }) {
      for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        log('info', line);
        await after(stepMs);
      }
      return 'Tool with logging executed successfully';
    },
  }),
  tool({
    name: 'test_logging_tool',
    handler(_ctx, _input, { log }) {
      log('info', 'a line');
      return 'logged';
    },
  }),
  tool({
    name: 'test_tool_with_progress',
    async handler(_ctx, _input, { progress }) {
      for (const done of [0, 50, 100]) {
        progress(done, 100, `Completed step ${done} of 100`);
        await after(stepMs);
      }
      return 'done';
    },
  }),
  tool({
    name: 'test_error_handling',
    handler() {
      throw new Error('This tool intentionally returns an error for testing');
    },
  }),
  tool({
    name: 'test_reconnection',
    async handler(_ctx, _input, { releaseStream }) {
      releaseStream();
      await after(5 * stepMs);
      return 'Reconnection test completed successfully.';
    },
  }),
  tool({
    name: 'json_schema_2020_12_tool',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'address',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }, { required: ['name'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { properties: { name: { type: 'string' } } },
      additionalProperties: false,
    },
    handler: (_ctx, input) => JSON.stringify(input),
  }),
  tool({
    name: 'test_custom_header',
    schema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    handler: (_ctx, { region }) => `region ${String(region)}`,
  }),
  tool({
    name: 'test_trigger_tool_change',
    async handler({ notify }) {
      await notify.listChanged('tools');
      return 'told';
    },
  }),
  tool({
    name: 'test_trigger_prompt_change',
    async handler({ notify }) {
      await notify.listChanged('prompts');
      return 'told';
    },
  }),
  ...askingTools,
  ...taskTools,
];

const resources: PluginResource[] = [
  {
    uri: 'test://static-text',
    name: 'Static Text Resource',
    description: 'A text that does not change',
    mimeType: 'text/plain',
    read: () => 'This is the content of the static text resource.',
  },
  {
    uri: 'test://static-binary',
    name: 'Static Binary Resource',
    mimeType: 'image/png',
    read: () => [{ uri: 'test://static-binary', mimeType: 'image/png', blob: pixelPng }],
  },
  {
    uri: 'test://watched-resource',
    name: 'Watched Resource',
    mimeType: 'text/plain',
    read: () => 'Watched resource content',
  },
];

const prompts: PluginPrompt[] = [
  { name: 'test_simple_prompt', description: 'Simple', get: () => 'This is a simple prompt for testing.' },
  {
    name: 'test_prompt_with_arguments',
    description: 'With arguments',
    arguments: ['arg1', 'arg2'].map((name) => ({
      name,
      required: true,
      complete: (value) => ['paris', 'park', 'party'].filter((one) => one.startsWith(value)),
    })),
    get: (_ctx, { arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'With a resource',
    arguments: [{ name: 'resourceUri', required: true }],
    get: (_ctx, { resourceUri = '' }) => [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
      },
      { role: 'user', content: text('Please process the embedded resource above.') },
    ],
  },
  {
    name: 'test_prompt_with_image',
    description: 'With an image',
    get: () => [
      { role: 'user', content: image },
      { role: 'user', content: text('Please analyze the image above.') },
    ],
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'Asks for a context first',
    get: (_ctx, _args, { inputs: { user_context } }) =>
      user_context
        ? `With context: ${JSON.stringify(user_context.content)}`
        : needInput({
            user_context: form('What context should the prompt use?', { context: { type: 'string' } }),
          }),
  },
];

export const plugin = definePlugin({
  name: 'conformance',
  version: '1.0.0',
  prefix: false,
  tools,
  resources,
  resourceTemplates: [
    {
      uriTemplate: 'test://template/{id}/data',
      name: 'Template Resource',
      mimeType: 'application/json',
      read: (_ctx, _uri, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    },
  ],
  prompts,
  register: () => undefined,
});
