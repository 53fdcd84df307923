import { AppError } from '@harness/contracts';
import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../contract/contract.ts';
import { failedResultOf, parseToolResult } from './tool-result.ts';

describe('parseToolResult', () => {
  it('converts a string to one text block', () => {
    expect(parseToolResult('hello')).toEqual({ content: [{ type: 'text', text: 'hello' }] });
  });

  it('returns a result with every kind of block unchanged', () => {
    const result: ToolResult = {
      content: [
        { type: 'text', text: '', annotations: { audience: ['user'] } },
        { type: 'image', data: 'AA==', mimeType: 'image/png' },
        { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///a', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///a', text: 'x' } },
        { type: 'resource', resource: { uri: 'file:///a', blob: 'AA==' } },
      ],
      structuredContent: { ok: true },
      isError: true,
      _meta: { own: 1 },
    };
    expect(parseToolResult(result)).toEqual(result);
  });

  it('removes unknown fields', () => {
    expect(parseToolResult({ content: [], extra: 'x' })).toEqual({ content: [] });
  });

  it.each([
    [undefined],
    [null],
    [5],
    [[]],
    [{}],
    [{ content: 'text' }],
    [{ content: [{ type: 'text' }] }],
    [{ content: [{ type: 'video', data: '' }] }],
    [{ content: [{ type: 'resource', resource: { uri: 'file:///a' } }] }],
    [{ content: [], structuredContent: 5 }],
    [{ content: [], isError: 'yes' }],
  ])('refuses %j', (returned) => {
    expect(() => parseToolResult(returned)).toThrow(expect.objectContaining({ code: 'tool_failed' }));
  });

  it('names the problem', () => {
    expect(() => parseToolResult({ content: [{ type: 'text' }] })).toThrow(/content\.0\.text/);
  });
});

describe('failedResultOf', () => {
  it.each([
    [new Error('disk full'), 'disk full'],
    [new TypeError(), 'TypeError'],
    ['plain text', 'plain text'],
    [Object.create(null), 'an error that cannot be converted to text'],
  ])('contains the message of what was thrown: %s', (thrown, text) => {
    expect(failedResultOf(thrown)).toEqual({
      isError: true,
      content: [{ type: 'text', text }],
      _meta: { 'harness/error': { code: 'tool_failed', message: text } },
    });
  });

  it('keeps code and details of an AppError', () => {
    const error = new AppError('too_many_children', 'Five at most.', { details: { limit: 5 } });
    expect(failedResultOf(error)).toMatchObject({
      content: [{ text: 'Five at most.' }],
      _meta: { 'harness/error': { code: 'too_many_children', details: { limit: 5 } } },
    });
  });

  it('does not reveal the text of an internal error', () => {
    expect(JSON.stringify(failedResultOf(new AppError('internal', 'secret')))).not.toContain('secret');
  });
});
