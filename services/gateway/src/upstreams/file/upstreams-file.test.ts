// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the files that are read
import { expect, it } from 'vitest';
import { isChosen, partNameOf, pluginNameOf } from './upstream-names.ts';
import { parseUpstreams } from './upstreams-file.ts';

const read = (text: string, env: Record<string, string> = {}) => parseUpstreams(text, env);
const one = (entry: object, env: Record<string, string> = {}) =>
  read(JSON.stringify({ mcpServers: { one: entry } }), env);

it('reads the files of Claude Code and Cursor, with comments and trailing commas', () => {
  const { upstreams, diagnostics } = read(
    `{
    // what people have
    "mcpServers": {
      "GitHub": { "type": "http", "url": "https://api.example.com/mcp", "headers": { "Authorization": "Bearer \${TOKEN}" } },
      "files": { "command": "npx", "args": ["-y", "server", "\${env:HOME}"], "env": { "LEVEL": 3 }, },
    },
  }`,
    { TOKEN: 'secret-token', HOME: '/home/ada' },
  );
  expect(diagnostics).toEqual([]);
  expect(upstreams).toMatchObject([
    { name: 'github', kind: 'http', headers: { Authorization: 'Bearer secret-token' }, maxTools: 500 },
    { name: 'files', kind: 'stdio', args: ['-y', 'server', '/home/ada'], env: { LEVEL: '3' } },
  ]);
});

it('reads the file of VS Code, and takes inputs from HARNESS_INPUT_<ID>', () => {
  const file = JSON.stringify({
    inputs: [{ id: 'api-key', type: 'promptString' }, { id: 'region', default: 'eu' }, { id: 'other' }],
    servers: {
      a: { url: 'https://a.example/mcp', headers: { key: '${input:api-key}', region: '${input:region}' } },
      b: { url: 'https://b.example/mcp', headers: { key: '${input:other}' } },
    },
  });
  const { upstreams, diagnostics } = read(file, { HARNESS_INPUT_API_KEY: 'given' });
  expect(upstreams).toMatchObject([{ name: 'a', headers: { key: 'given', region: 'eu' } }]);
  expect(diagnostics).toEqual([
    { source: 'b', level: 'error', message: 'b: the input "other" has no value: set HARNESS_INPUT_OTHER' },
  ]);
});

it.each([
  ['${A}', 'a'],
  ['${env:A}', 'a'],
  ['${B:-x}', 'x'],
  ['${A:-x}', 'a'],
  ['${EMPTY:-x}', 'x'],
  ['x${A}y${A}', 'xaya'],
  ['${B:-}', ''],
])('expands %s', (text, expected) => {
  expect(one({ command: 'run', args: [text] }, { A: 'a', EMPTY: '' }).upstreams).toMatchObject([
    { args: [expected] },
  ]);
});

it.each([
  [{ command: 'run', args: ['${MISSING}'] }, 'the variable MISSING is not set'],
  [{ command: 'run', args: ['${workspaceFolder}/x'] }, 'the variable workspaceFolder is not set'],
  [{ type: 'sse', url: 'https://a.example' }, 'the transport "sse" is not supported'],
  [{ url: 'ftp://a.example' }, 'url: must be an http or https URL'],
  [{}, 'url: '],
  ['text', 'must be an object'],
  [{ command: 'run', timeoutMs: 0 }, 'timeoutMs: '],
])('a bad entry is a diagnostic: %j', (entry, problem) => {
  const file = read(JSON.stringify({ mcpServers: { bad: entry, good: { command: 'run' } } }));
  expect(file.upstreams.map(({ name }) => name)).toEqual(['good']);
  expect(file.diagnostics).toEqual([
    { source: 'bad', level: 'error', message: expect.stringContaining(`bad: `) },
  ]);
  expect(file.diagnostics[0]?.message).toContain(problem);
});

it('two names that become one are a diagnostic, and so are unknown fields', () => {
  const { upstreams, diagnostics } = read(
    JSON.stringify({
      mcpServers: { 'My Server': { command: 'run', colour: 'red' }, 'my-server': { command: 'run' } },
    }),
  );
  expect(upstreams.map(({ name }) => name)).toEqual(['my-server']);
  expect(diagnostics.map(({ message }) => message)).toEqual([
    'My Server: "colour" is not a field of an upstream and is ignored',
    'my-server: would be called "my-server", like "My Server" before it; rename one of them',
  ]);
});

it.each([
  ['{', 'line 1'],
  ['[]', 'an object with "mcpServers" or "servers"'],
  ['{"mcpServers": 5}', 'must have an object'],
])('refuses a text that is no such file: %s', (text, problem) => {
  expect(() => read(text)).toThrow(problem);
});

it('makes names that plugins and tools may have', () => {
  expect(['GitHub', 'my server', 'a__b', '3d', '_x_', '日本'].map(pluginNameOf)).toEqual([
    'github',
    'my-server',
    'a-b',
    'mcp-3d',
    'x',
    undefined,
  ]);
  expect(pluginNameOf('a'.repeat(100))).toHaveLength(48);
  expect(['a.b', 'read file', 'x'.repeat(80)].map(partNameOf)).toEqual(['a_b', 'read_file', 'x'.repeat(64)]);
});

it.each([
  [undefined, true],
  [['read_*'], true],
  [['write_*'], false],
  [['*', '!read_secret*'], true],
  [['*', '!*_file'], false],
  [['!read*'], false],
  [['r*d_f*e'], true],
  [[], true],
])('chooses tools by %j', (patterns, expected) => {
  expect(isChosen('read_file', patterns)).toBe(expected);
});
