import { AppError } from '@harness/contracts';
import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../contract/contract.ts';
import { failedResultOf, parseToolResult } from './tool-result.ts';

describe('parseToolResult', () => {
  it('makes one text block of a string', () => {
    expect(parseToolResult('hello')).toEqual({ content: [{ type: 'text', text: 'hello' }] });
  });

  it('passes a result of every kind of block as it is', () => {
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

  it('leaves out what no result has', () => {
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

  it('says what is wrong with it', () => {
    expect(() => parseToolResult({ content: [{ type: 'text' }] })).toThrow(/content\.0\.text/);
  });
});

describe('failedResultOf', () => {
  it.each([
    [new Error('disk full'), 'disk full'],
    [new TypeError(), 'TypeError'],
    ['plain text', 'plain text'],
    [Object.create(null), 'a failure that cannot be shown'],
  ])('tells the model what was thrown: %s', (thrown, text) => {
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

  it('keeps the text of an internal error inside', () => {
    expect(JSON.stringify(failedResultOf(new AppError('internal', 'secret')))).not.toContain('secret');
  });
});
