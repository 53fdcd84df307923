/** A thread whose files a test changes. */
import { type GatewayOptions, openGateway } from './fixture.ts';

/** The header of a body that is bytes. */
export const octets = { 'content-type': 'application/octet-stream' };

/** A gateway, a thread of it, and shortcuts to its files. */
export async function openThread(options: GatewayOptions = {}) {
  const gateway = await openGateway(options);
  const { threadId } = (await gateway.call('POST', '/v1/threads', { body: {} })).body;
  const url = `/v1/threads/${threadId}`;
  const put = (path: string, body: string, headers = {}) =>
    gateway.call('PUT', `${url}/files/${path}`, { body, headers: { ...octets, ...headers } });
  const fetched = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}${url}/files/${path}`, { headers });
  const changes = async () => {
    const { body } = await gateway.call('GET', `${url}/events`, { headers: { accept: 'application/json' } });
    return body.events.filter((event: { type: string }) => event.type === 'files.changed');
  };
  return { gateway, threadId, url, put, fetched, changes };
}
