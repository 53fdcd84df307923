/** Tools of the conformance suite that ask the client: one round, several, with state, and only what it can do. */
import { defineTool, type InputRequest, needInput, type PluginTool } from '@harness/plugin-kit';

/** A form with the given fields; all are required unless `required` is given. */
export const form = (
  message: string,
  properties: Record<string, object>,
  required: string[] = Object.keys(properties),
): InputRequest => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required } },
});
export const askName = form('What is your name?', { name: { type: 'string' } });
const sample = (text: string): InputRequest => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 100 },
});
const roots: InputRequest = { method: 'roots/list', params: {} };
const text = { type: 'string' };

const schema = { type: 'object', properties: {} };
type Tool = Omit<PluginTool, 'description' | 'schema'> & Partial<PluginTool>;
const tool = (own: Tool) => defineTool({ description: `Conformance: ${own.name}`, schema, ...own });

const contentOf = (answer: Record<string, unknown> | undefined) =>
  (answer?.content ?? {}) as Record<string, unknown>;

/** Asks once, and returns the client's response. */
const asksOnce = (
  name: string,
  { key, request }: { key: string; request: InputRequest },
  describe: (answer: object) => string,
) =>
  tool({
    name,
    handler: (_ctx, _input, { inputs }) => {
      const answer = inputs[key];
      return answer ? describe(answer) : needInput({ [key]: request });
    },
  });

const outcome = ({ action, content }: Record<string, unknown>) =>
  `action=${String(action)}, content=${JSON.stringify(content ?? {})}`;

export const askingTools: PluginTool[] = [
  tool({
    name: 'test_sampling',
    schema: { type: 'object', properties: { prompt: text }, required: ['prompt'] },
    handler: (_ctx, { prompt }, { inputs: { answer } }) =>
      answer
        ? `LLM response: ${String(contentOf(answer).text)}`
        : needInput({ answer: sample(String(prompt)) }),
  }),
  tool({
    name: 'test_elicitation',
    schema: { type: 'object', properties: { message: text }, required: ['message'] },
    handler: (_ctx, { message }, { inputs: { answer } }) =>
      answer
        ? `User response: ${outcome(answer)}`
        : needInput({ answer: form(String(message), { username: text, email: text }) }),
  }),
  asksOnce(
    'test_elicitation_sep1034_defaults',
    {
      key: 'form',
      request: form(
        'Review these',
        {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        },
        [],
      ),
    },
    (answer) => `Elicitation completed: ${outcome(answer as Record<string, unknown>)}`,
  ),
  asksOnce(
    'test_elicitation_sep1330_enums',
    {
      key: 'form',
      request: form(
        'Choose',
        {
          untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          titledSingle: {
            type: 'string',
            oneOf: [
              { const: 'value1', title: 'First Option' },
              { const: 'value2', title: 'Second Option' },
              { const: 'value3', title: 'Third Option' },
            ],
          },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: {
            type: 'array',
            items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          },
          titledMulti: {
            type: 'array',
            items: {
              anyOf: [
                { const: 'value1', title: 'First Choice' },
                { const: 'value2', title: 'Second Choice' },
                { const: 'value3', title: 'Third Choice' },
              ],
            },
          },
        },
        [],
      ),
    },
    (answer) => `Elicitation completed: ${outcome(answer as Record<string, unknown>)}`,
  ),
  asksOnce('test_input_required_result_elicitation', { key: 'user_name', request: askName }, (answer) => {
    return `Hello, ${String(contentOf(answer as Record<string, unknown>).name)}!`;
  }),
  asksOnce(
    'test_input_required_result_sampling',
    { key: 'capital_question', request: sample('What is the capital of France?') },
    (answer) => JSON.stringify(answer),
  ),
  asksOnce('test_input_required_result_list_roots', { key: 'client_roots', request: roots }, (answer) =>
    JSON.stringify(answer),
  ),
  tool({
    name: 'test_input_required_result_request_state',
    handler: (_ctx, _input, { inputs: { confirm }, state }) =>
      confirm && state
        ? `state-ok: ${JSON.stringify(state)}`
        : needInput({ confirm: form('Please confirm', { ok: { type: 'boolean' } }) }, { round: 1 }),
  }),
  tool({
    name: 'test_input_required_result_multiple_inputs',
    handler: (_ctx, _input, { inputs }) =>
      inputs.user_name && inputs.greeting && inputs.client_roots
        ? JSON.stringify(inputs)
        : needInput(
            { user_name: askName, greeting: sample('Generate a greeting'), client_roots: roots },
            { round: 1 },
          ),
  }),
  tool({
    name: 'test_input_required_result_multi_round',
    handler: (_ctx, _input, { inputs: { step1, step2 }, state }) => {
      if (step2) return `Done: ${JSON.stringify({ ...(state as object), ...contentOf(step2) })}`;
      if (!step1)
        return needInput({ step1: form('Step 1: What is your name?', { name: text }) }, { round: 1 });
      const second = form('Step 2: What is your favorite color?', { color: text });
      return needInput({ step2: second }, { round: 2, ...contentOf(step1) });
    },
  }),
  tool({
    name: 'test_input_required_result_tampered_state',
    handler: (_ctx, _input, { inputs: { confirm }, state }) =>
      confirm && state
        ? 'untouched'
        : needInput({ confirm: form('Please confirm', { ok: { type: 'boolean' } }) }, { round: 1 }),
  }),
  tool({
    name: 'test_input_required_result_capabilities',
    handler: (_ctx, _input, { capabilities, inputs }) => {
      if (Object.keys(inputs).length > 0) return JSON.stringify(inputs);
      return needInput({
        ...(capabilities.elicitation ? { user_name: askName } : {}),
        ...(capabilities.sampling ? { greeting: sample('Generate a greeting') } : {}),
      });
    },
  }),
  tool({
    name: 'test_missing_capability',
    handler: (_ctx, _input, { inputs: { greeting } }) =>
      greeting ? 'greeted' : needInput({ greeting: sample('Generate a greeting') }),
  }),
  tool({
    name: 'test_streaming_elicitation',
    handler: (_ctx, _input, { inputs: { user_name }, progress }) => {
      progress(1, 2);
      return user_name ? 'streamed' : needInput({ user_name: askName });
    },
  }),
];
