import { type Agent, request } from 'node:http';
import { bearer } from './fixture.ts';

/** Lists the tools at /mcp on a connection of the agent; gives the status. */
export function listToolsThrough(agent: Agent, { url, key }: { url: string; key: string }) {
  const headers = {
    ...bearer(key),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } });
  return new Promise<number | undefined>((resolve, reject) => {
    const outgoing = request(`${url}/mcp`, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
