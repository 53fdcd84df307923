import { expect, test } from 'vitest';
import { loadWorkerConfig } from './config.ts';

const base = { REDIS_URL: 'redis://127.0.0.1' };

test.each([
  ['HARNESS_EGRESS', 'http://a b/'],
  ['HARNESS_EGRESS', 'example.com:443'],
  ['HARNESS_EGRESS', '*.'],
  ['HARNESS_AGENT_EXECUTABLE', '/nowhere'],
  ['HARNESS_AGENT_EXECUTABLE', '/'],
  ['HARNESS_GATEWAY_URL', 'gateway:8080'],
  ['HARNESS_GATEWAY_URL', 'http://gateway:8080/prefix'],
  ['HARNESS_GATEWAY_URL', 'http://user:password@gateway:8080'],
  ['ANTHROPIC_BASE_URL', 'garbage'],
])('%s=%s is refused by its name', (name, value) => {
  expect(() => loadWorkerConfig({ ...base, [name]: value })).toThrow(`${name}: must be`);
});

test('hosts that sandboxes reach are names, addresses, or all names below one', () => {
  const hosts = ['example.com', '*.example.org', '192.0.2.1', '2001:db8::1'];
  expect(loadWorkerConfig({ ...base, HARNESS_EGRESS: hosts.join(', ') }).HARNESS_EGRESS).toEqual(hosts);
});
