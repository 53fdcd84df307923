import { expect, test } from 'vitest';
import { readConversation } from './conversation.ts';

const user = (content: string | { type: string; text?: string; content?: unknown }[]) => ({
  role: 'user',
  content,
});
const toolUse = { role: 'assistant', content: [{ type: 'tool_use', name: 'mcp__harness__time__now' }] };

test('reminders and system-role messages do not count as typed', () => {
  const { texts } = readConversation([
    user([
      { type: 'text', text: '<system-reminder>\nsay: no\n</system-reminder>' },
      { type: 'text', text: 'say: yes <system-reminder>\nsay: no\n</system-reminder>' },
    ]),
    { role: 'system', content: 'say: no' },
  ]);
  expect(texts).toEqual(['say: yes']);
});

test('a quoted reminder is quoted material and removes nothing', () => {
  const text = '> <system-reminder>\nResult:\n> </system-reminder>';
  expect(readConversation([user(text)]).texts).toEqual([text]);
});

test('a prompt that failed or was interrupted is a separate text in the merged message', () => {
  const { texts } = readConversation([
    user([
      { type: 'text', text: 'fail: 400\n' },
      { type: 'text', text: '[Request interrupted by user]\n' },
      { type: 'text', text: 'say: next' },
    ]),
  ]);
  expect(texts).toEqual(['fail: 400', 'say: next']);
});

test('tool uses are counted from the last typed text, and the last result is kept without its reminders', () => {
  const answer = (content: unknown) => user([{ type: 'tool_result', content }]);
  const reminded = '10:00\n\n<system-reminder>\n<total_tokens>5</total_tokens>\n</system-reminder>';
  const messages = [
    user('a'),
    toolUse,
    answer('9:00'),
    user('b'),
    toolUse,
    answer([{ type: 'text', text: reminded }]),
  ];
  expect(readConversation(messages)).toEqual({ texts: ['a', 'b'], toolUses: 1, toolResult: '10:00' });
});

test('Claude Code’s texts about a schema do not count as typed', () => {
  const nudge =
    '[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request.';
  const { texts, outputTool } = readConversation([user('a'), user(nudge)], ['Bash', 'StructuredOutput']);
  expect({ texts, outputTool }).toEqual({ texts: ['a'], outputTool: 'StructuredOutput' });
});

test('a script with persist: continues with its turn; another does not', () => {
  const turn = (script: string) => [
    { role: 'user', content: script },
    { role: 'assistant', content: [{ type: 'tool_use' }] },
    { role: 'user', content: [{ type: 'tool_result', content: 'done' }] },
    {
      role: 'user',
      content: 'The agent process ended in the middle of your last turn. Continue that turn now.',
    },
  ];
  expect(readConversation(turn('persist:\ncall: x'))).toMatchObject({
    texts: ['persist:\ncall: x'],
    toolUses: 1,
  });
  expect(readConversation(turn('call: x'))).toMatchObject({ toolUses: 0 });
});
