import { ConfigError } from '@harness/runtime';
import { expect, test } from 'vitest';
import { loadBridgeConfig } from './config.ts';

test('defaults: everything of a gateway on this machine', () => {
  const { mcpUrl, ...rest } = loadBridgeConfig([], {});
  expect(mcpUrl.href).toBe('http://127.0.0.1:8080/mcp');
  expect(rest).toEqual({ apiKey: undefined, plugin: undefined, bare: false, help: false });
});

test('reads address and key from the environment, the view from the arguments', () => {
  const env = { HARNESS_URL: 'https://harness.example.com/', HARNESS_API_KEY: 'key' };
  const { mcpUrl, ...rest } = loadBridgeConfig(['--plugin', 'bus', '--bare'], env);
  expect(mcpUrl.href).toBe('https://harness.example.com/mcp');
  expect(rest).toEqual({ apiKey: 'key', plugin: 'bus', bare: true, help: false });
});

test.each([
  [['--bare'], {}, '--bare needs --plugin'],
  [['--plugins', 'bus'], {}, '--plugins'],
  [['bus'], {}, 'bus'],
  [[], { HARNESS_URL: 'here' }, 'HARNESS_URL'],
])('%j with %j is refused with a reason', (args, env, why) => {
  expect(() => loadBridgeConfig(args, env)).toThrow(ConfigError);
  expect(() => loadBridgeConfig(args, env)).toThrow(why);
});
