/** The gateway that owns an upstream is killed. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

/** A server of the 2025 era with one tool, which says the server's process id. */
const server = `
  const write = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize') write(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
    else if (method === 'tools/list') write(id, { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] });
    else if (method === 'tools/call') write(id, { content: [{ type: 'text', text: String(process.pid) }] });
    else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
  });
`;

test('the process of a killed gateway ends with it, and the other gateway starts one', {
  timeout: 120_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'upstreams-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  const one = { command: process.execPath, args: ['-e', server] };
  await writeFile(file, JSON.stringify({ mcpServers: { one } }), { mode: 0o600 });
  const fleet = await openFleet({ workers: 0, env: { HARNESS_UPSTREAMS_FILE: file } });
  const second = await fleet.addGateway();
  const pidAt = async (url: string) => {
    const response = await fetch(`${url}/v1/tools/one__pid`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    const { content, isError } = (await response.json()) as {
      content?: { text: string }[];
      isError?: boolean;
    };
    return isError === false ? Number(content?.[0]?.text) : undefined;
  };
  const { url } = fleet.gateway.ready;
  await expect.poll(() => pidAt(url), { timeout: 20_000 }).toBeDefined();
  const pid = await pidAt(url);
  await expect.poll(() => pidAt(second.ready.url), { timeout: 20_000 }).toBe(pid);

  // The first gateway has started alone, so it is the owner.
  fleet.gateway.process.kill('SIGKILL');
  await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  const next = async () => (await pidAt(second.ready.url)) ?? pid;
  await expect.poll(next, { timeout: 30_000 }).not.toBe(pid);
});
