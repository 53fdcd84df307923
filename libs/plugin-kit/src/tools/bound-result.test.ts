import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentBlock, PluginTool, ToolResult } from '../contract/contract.ts';
import { collectTools } from '../host/collect.ts';
import { boundResult, defaultResultLimits } from './bound-result.ts';
import { createToolServer } from './tool-server.ts';

const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const bound = (content: ContentBlock[], limits: object = {}) =>
  boundResult({ content }, { ...defaultResultLimits, ...limits }).content;
const failure = (message: string) => ({
  isError: true,
  content: [text(expect.stringContaining(message))],
  _meta: { 'harness/error': { code: 'tool_failed', message: expect.stringContaining(message) } },
});
const nested = (levels: number): Record<string, unknown> => (levels === 1 ? {} : { a: nested(levels - 1) });

it('does not change a result within its limits', () => {
  const result: ToolResult = {
    content: [
      { type: 'text', text: 'one\ttwo\r\n🏴 éß', annotations: { priority: 1 } },
      { type: 'image', data: 'QUJD', mimeType: 'image/png' },
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
      { type: 'resource', resource: { uri: 'file:///b', text: 'b' } },
      text(''),
    ],
    structuredContent: { a: [1, null, 'x'] },
    isError: false,
    _meta: { own: 1 },
  };
  expect(boundResult(result)).toEqual(result);
});

describe('text', () => {
  it('is cut at a character boundary, with a marker', () => {
    expect(bound([text('aé€😀end')], { maxBytes: 9 })).toEqual([
      text('aé€'),
      text('[harness: the text was cut after 6 of 13 bytes]'),
    ]);
    expect(bound([text('😀😀')], { maxBytes: 2 })).toEqual([
      text('[harness: the text was cut after 0 of 8 bytes]'),
    ]);
    expect(bound([text('12345')], { maxBytes: 5 })).toEqual([text('12345')]);
  });

  it('of 50 MB is cut to 1 MiB', () => {
    const [kept, marker] = bound([text('x'.repeat(50_000_000))]);
    expect(kept).toEqual(text('x'.repeat(1024 ** 2)));
    expect(marker).toEqual(text('[harness: the text was cut after 1,048,576 of 50,000,000 bytes]'));
  });

  it('counts its further fields, too', () => {
    const block = { ...text('short'), extra: 'x'.repeat(100) };
    expect(bound([block], { maxBytes: 50 })).toEqual([
      text('[harness: the text was cut after 0 of 5 bytes]'),
    ]);
  });

  it('after the limit is left out, with a marker', () => {
    expect(bound([text('12345'), text('6789'), text('abc')], { maxBytes: 7 })).toEqual([
      text('12345'),
      text('67'),
      text('[harness: the text was cut after 2 of 4 bytes]'),
      text('[harness: the text was cut after 0 of 3 bytes]'),
    ]);
  });

  it.each([
    ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
    ['8-bit escapes', '\u009b31mred', 'red'],
    ['a window title', '\u001b]0;title\u0007text', 'text'],
    ['a hyperlink', '\u001b]8;;https://x.y\u001b\\text\u001b]8;;\u001b\\', 'text'],
    ['a title without an end', '\u001b]0;title', '0;title'],
    ['a clear screen', 'a\u001bcb', 'ab'],
    ['control characters', 'a\u0000b\u0008c\u007fd\u0085e', 'abcde'],
    [
      'a text in tags',
      `a${String.fromCodePoint(...[...'ignore'].map((c) => 0xe0000 + c.charCodeAt(0)))}b`,
      'ab',
    ],
    ['a text in variation selectors', `a${String.fromCodePoint(0xe0101, 0xe01ef)}b`, 'ab'],
    ['zero-width spaces', 'a\u200bb\u2060c\ufeffd', 'abcd'],
    ['bidi controls', 'a\u202eb\u2066c\u2069\u202cd', 'abcd'],
    ['fillers', 'a\u3164b\uffa0c\u115fd\u1160e\u17b4f\u17b5g', 'abcdefg'],
    ['format characters', 'a\u180eb\u206ac\u206fd\ufff9e\ufffbf\u034fg\u00adh', 'abcdefgh'],
    ['variation selectors that only hide', 'a\ufe00b\ufe0dc', 'abc'],
    ['runs of variation selectors', 'a\ufe0f\ufe0eb\ufe0f\u200b\ufe0fc', 'abc'],
    ['nested to survive one pass', '\u001b\u001b[31m[31mx', '[31mx'],
  ])('loses %s', (_what, dirty, clean) => {
    expect(bound([text(dirty)])).toEqual([text(clean)]);
    expect(bound([{ type: 'resource', resource: { uri: 'u', text: dirty } }])).toEqual([
      { type: 'resource', resource: { uri: 'u', text: clean } },
    ]);
    const { structuredContent } = boundResult({ content: [], structuredContent: { [dirty]: [dirty] } });
    expect(structuredContent).toEqual({ [clean]: [clean] });
  });
});

describe('blocks', () => {
  it('beyond the limit are left out, with a marker', () => {
    const many = Array.from({ length: 1100 }, (_, n) => text(String(n)));
    const kept = bound(many);
    expect(kept.slice(0, 100)).toEqual(many.slice(0, 100));
    expect(kept.slice(100)).toEqual([text('[harness: 1,000 of 1,100 content blocks were left out]')]);
    expect(bound(many.slice(0, 100))).toHaveLength(100);
  });

  it('that do not fit are replaced, and smaller ones after them still fit', () => {
    const image: ContentBlock = { type: 'image', data: 'A'.repeat(2000), mimeType: 'image/png' };
    const blob: ContentBlock = {
      type: 'resource',
      resource: { uri: 'u', mimeType: 'x', blob: 'A'.repeat(3000) },
    };
    const link: ContentBlock = { type: 'resource_link', uri: `https://x.y/${'z'.repeat(1000)}`, name: 'z' };
    expect(bound([image, blob, link, text('after')], { maxBytes: 1000 })).toEqual([
      text('[harness: a block of image of type image/png was left out: it has 2,000 bytes]'),
      text('[harness: a block of resource was left out: it has 3,000 bytes]'),
      text('[harness: a block of resource_link was left out: it has 1,012 bytes]'),
      text('after'),
    ]);
  });
});

describe('structured content', () => {
  it('is counted first', () => {
    const structuredContent = { a: 'x'.repeat(80) };
    const { content } = boundResult(
      { content: [text('y'.repeat(50))], structuredContent },
      { ...defaultResultLimits, maxBytes: 100 },
    );
    expect(content).toEqual([text('y'.repeat(12)), text('[harness: the text was cut after 12 of 50 bytes]')]);
  });

  it('that is too large becomes a failure', () => {
    const structuredContent = { a: 'x'.repeat(2_000_000) };
    expect(boundResult({ content: [text('a')], structuredContent })).toEqual(failure('2,000,008 bytes'));
  });

  it('that is nested too deeply becomes a failure', () => {
    expect(boundResult({ content: [], structuredContent: nested(64) })).not.toHaveProperty('isError');
    expect(boundResult({ content: [], structuredContent: nested(65) })).toEqual(failure('64 levels'));
    expect(boundResult({ content: [], structuredContent: nested(5000) })).toEqual(failure('64 levels'));
  });

  it('that is not JSON becomes a failure', () => {
    expect(boundResult({ content: [], structuredContent: { n: 1n } })).toEqual(failure('not JSON'));
  });
});

it('of a _meta that is too large, only the error is kept', () => {
  const _meta = {
    own: 'x'.repeat(100_000),
    'harness/error': { code: 'tool_failed', message: '\u001b[1mwhy', details: 1 },
  };
  expect(boundResult({ content: [], _meta })._meta).toEqual({
    'harness/error': { code: 'tool_failed', message: 'why' },
  });
  const longCode = { 'harness/error': { code: 'c'.repeat(100_000), message: 'why' } };
  expect(boundResult({ content: [], _meta: longCode })._meta).toEqual({
    'harness/error': { code: 'c'.repeat(100), message: 'why' },
  });
  expect(boundResult({ content: [], _meta: { own: 'x'.repeat(100_000) } })._meta).toEqual({});
});

it('any result is bounded, and bounding again changes nothing that was not cut', () => {
  // Characters of one to four bytes. (The unit 'binary' first builds a table of a million: a second of CPU.)
  const unit = fc.constantFrom('a', '"', '\n', '\0', 'é', '\u0301', '€', '😀');
  const block = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: fc.string({ unit, maxLength: 60 }) }),
    fc.record({
      type: fc.constant('image' as const),
      data: fc.base64String({ maxLength: 60 }),
      mimeType: fc.string(),
    }),
  );
  const isMarker = (each: ContentBlock) => each.type === 'text' && each.text.startsWith('[harness: ');
  fc.assert(
    fc.property(fc.array(block), fc.nat(100), fc.nat(10), (content, maxBytes, maxBlocks) => {
      const kept = bound(content, { maxBytes, maxBlocks });
      const own = kept.filter((each) => !isMarker(each));
      const bytes = own.map((each) =>
        Buffer.byteLength(each.type === 'text' ? each.text : JSON.stringify(each)),
      );
      expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(maxBytes);
      expect(own.length).toBeLessThanOrEqual(maxBlocks);
      if (kept.length === own.length) expect(bound(kept)).toEqual(kept);
    }),
  );
});

it('half of a surrogate pair is replaced wherever it stands', () => {
  const half = 'a\ud800b';
  const toJSON = () => {
    throw new Error(half);
  };
  const results: ToolResult[] = [
    { content: [text(half)] },
    { content: [{ type: 'text', text: 'x', annotations: { [half]: half } }] },
    { content: [{ type: 'resource', resource: { uri: 'file:///a', text: half } }] },
    { content: [], structuredContent: { [half]: [{ [half]: half }] } },
    { content: [], _meta: { [half]: half } },
    {
      content: [],
      _meta: { own: 'x'.repeat(100_000), 'harness/error': { code: 'tool_failed', message: half } },
    },
    { content: [], structuredContent: { toJSON } },
  ];
  for (const result of results) {
    const sent = JSON.stringify(boundResult(result));
    expect(sent).toContain('a\ufffdb');
    expect(sent).not.toContain('\\ud800'); // as JSON spells it
  }
});

describe('the tool server bounds', () => {
  const call = (handler: PluginTool['handler'], outputSchema?: object) => {
    const tool = {
      name: 't',
      description: 'x',
      schema: {},
      handler,
      ...(outputSchema && { outputSchema }),
    } as PluginTool;
    const plugin = { name: 'p', version: '1', register: () => undefined, tools: [tool] };
    const server = createToolServer(collectTools([plugin]));
    return server?.call('p__t', { input: {}, meta: { threadId: 't1' } }) as Promise<ToolResult>;
  };

  it('what a tool returns', async () => {
    const result = await call(() => `\u001b[1m${'x'.repeat(2_000_000)}`);
    expect(result.content.at(-1)).toEqual(text(expect.stringContaining('of 2,000,004 bytes')));
    expect(result.content[0]).toMatchObject({ text: expect.stringMatching(/^x+$/) });
  });

  it('what a tool throws', async () => {
    const result = await call(() => {
      throw new Error(`\u001b[1m${'x'.repeat(2_000_000)}`);
    });
    expect(JSON.stringify(result).length).toBeLessThan(1_200_000);
    expect(result).toMatchObject({ isError: true, _meta: { 'harness/error': { code: 'tool_failed' } } });
    expect(JSON.stringify(result)).not.toContain('\\u001b');
  });

  it('and cleans what a tool throws: half of a surrogate pair is replaced', async () => {
    const result = await call(() => {
      throw new Error('a\ud800b');
    });
    expect(result).toEqual(failure('a\ufffdb'));
  });

  it('structured content, before its schema is checked', async () => {
    const result = await call(() => ({ content: [], structuredContent: nested(80) }), { type: 'object' });
    expect(result).toEqual(failure('64 levels'));
  });
});

it('the tool server also bounds the result of a middleware', async () => {
  const tool = { name: 't', description: 'x', schema: {}, handler: () => 'short' };
  const plugin = { name: 'p', version: '1', register: () => undefined, tools: [tool] };
  const server = createToolServer(collectTools([plugin]), {
    middleware: [
      { name: 'long', afterCall: async () => ({ content: [text(`\u001b[1m${'x'.repeat(2_000_000)}`)] }) },
    ],
  });
  const result = (await server?.call('p__t', { input: {}, meta: { threadId: 't1' } })) as ToolResult;
  expect(result.content.at(-1)).toEqual(text(expect.stringContaining('of 2,000,004 bytes')));
});
