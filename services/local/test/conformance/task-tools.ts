/** Tools of the conformance suite whose calls may become tasks. */
import { setTimeout as after } from 'node:timers/promises';
import { defineTool, needInput, type PluginTool } from '@harness/plugin-kit';
import { askName, form } from './asking-tools.ts';

const confirm = (what: string) => form(`Really ${what}?`, { confirm: { type: 'boolean' } });
const nothing = { type: 'object', properties: {} };

export const taskTools: PluginTool[] = [
  defineTool({
    name: 'greet',
    description: 'Greets',
    schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    handler: (_ctx, { name }) => `Hello, ${String(name)}!`,
  }),
  defineTool({
    name: 'slow_compute',
    description: 'Takes its time',
    schema: {
      type: 'object',
      properties: { seconds: { type: 'number' }, label: { type: 'string' } },
      required: ['seconds'],
    },
    task: 'optional',
    async handler(_ctx, { seconds, label }, { signal }) {
      await after(Number(seconds) * 1000, undefined, { signal });
      return `${String(label)}: computed for ${String(seconds)} s`;
    },
  }),
  defineTool({
    name: 'failing_job',
    description: 'Fails after a while',
    schema: nothing,
    task: 'required',
    async handler() {
      await after(1_000);
      throw new Error('The job failed.');
    },
  }),
  defineTool({
    name: 'protocol_error_job',
    description: 'Asks for what the client cannot do',
    schema: nothing,
    task: 'required',
    handler: () => needInput({ roots: { method: 'roots/list', params: {} } }),
  }),
  defineTool({
    name: 'confirm_delete',
    description: 'Asks before it deletes',
    schema: { type: 'object', properties: { filename: { type: 'string' } }, required: ['filename'] },
    task: 'required',
    handler: (_ctx, { filename }, { inputs: { confirmed } }) =>
      confirmed
        ? `deleted ${String(filename)}`
        : needInput({ confirmed: confirm(`delete ${String(filename)}`) }),
  }),
  defineTool({
    name: 'multi_input',
    description: 'Asks two things at once',
    schema: nothing,
    task: 'required',
    handler: (_ctx, _input, { inputs: { one, other } }) =>
      one && other ? 'both answered' : needInput({ one: confirm('do one'), other: confirm('do the other') }),
  }),
  defineTool({
    name: 'test_tool_with_task',
    description: 'Asks first, then works on',
    schema: nothing,
    task: 'required',
    beforeTask: (_ctx, _input, { inputs: { user_name } }) =>
      user_name ? undefined : needInput({ user_name: askName }, { asked: true }),
    handler: (_ctx, _input, { inputs: { user_name } }) =>
      `Worked for ${String((user_name?.content as { name?: string } | undefined)?.name)}`,
  }),
];
