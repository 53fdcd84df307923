import { expect, test } from 'vitest';
import { defaultSystemPrompt, systemPromptOf } from './system-prompt.ts';

const none = { agent: undefined, skill: undefined, systemPrompt: undefined };
const agent = { name: 'clerk', instructions: 'You are clerk.' };
const skill = { name: 'tea', instructions: 'Steep it.' };
const active = 'The skill "tea" is active. Follow it:\n\nSteep it.';

test.each([
  ['nothing', none, undefined],
  ['a system prompt', { ...none, systemPrompt: 'Be brief.' }, 'Be brief.'],
  ['an agent', { ...none, agent, systemPrompt: 'Be brief.' }, 'You are clerk.\n\nBe brief.'],
  ['a skill', { ...none, skill }, `${defaultSystemPrompt}\n\n${active}`],
  ['all', { agent, skill, systemPrompt: 'Be brief.' }, `You are clerk.\n\nBe brief.\n\n${active}`],
])('a thread with %s', (_what, thread, prompt) => {
  expect(systemPromptOf(thread)).toBe(prompt);
});

test('a missing agent or skill is an error', () => {
  expect(() => systemPromptOf({ ...none, agent: { name: 'clerk', instructions: undefined } })).toThrow(
    /"clerk".* no longer exists/,
  );
  expect(() => systemPromptOf({ ...none, skill: { name: 'tea', instructions: undefined } })).toThrow(
    /"tea".* no longer exists/,
  );
});
