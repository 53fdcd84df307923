/** Commands for files of the thread: they read and write files here, so that the chat runs them, and not the gateway. */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { CommandAnswer } from './command-answer.ts';
import type { GatewayClient } from './gateway-client.ts';

/** The names, arguments and descriptions of the commands. */
export const fileCommands = [
  { name: 'files', hint: '', description: 'Lists the files of this thread' },
  { name: 'get', hint: 'path [to]', description: 'Downloads a file of this thread' },
  { name: 'put', hint: 'from [path]', description: 'Uploads a file to this thread' },
] as const;

/** A file as `GET …/files` lists it. */
interface ListedFile {
  path: string;
  kind: string;
  size?: number;
}

/** Runs a command on a thread. Undefined: it is none of these. Throws GatewayAway. */
export async function runFileCommand(
  client: GatewayClient,
  threadId: string,
  line: string,
): Promise<CommandAnswer | undefined> {
  const [name = '', first, second] = wordsOf(line);
  const command = { '/files': files, '/get': get, '/put': put }[name];
  if (!command) return undefined;
  try {
    return {
      output: await command({ client, at: `/v1/threads/${threadId}/files` }, first, second),
      isError: false,
    };
  } catch (error) {
    return { output: (error as Error).message, isError: true };
  }
}

interface Files {
  client: GatewayClient;
  at: string;
}

async function files({ client, at }: Files): Promise<string> {
  const { files: all } = await client.call<{ files: ListedFile[] }>('GET', at);
  if (all.length === 0) return 'This thread has no files.';
  const width = Math.max(...all.map(({ size = 0 }) => String(size).length));
  return all.map(({ path, size = 0 }) => `  ${String(size).padStart(width)}  ${path}`).join('\n');
}

async function get({ client, at }: Files, path?: string, to?: string): Promise<string> {
  if (path === undefined) throw new Error('Which file? /get path [to]');
  const target = resolve(to ?? basename(path));
  const response = await client.send('GET', `${at}/${encoded(path)}`);
  // Never overwrites a file: an agent may have chosen its name.
  const file = await open(target, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new Error(`${target} exists: say /get ${path} another-name`) : error;
  });
  await pipeline(Readable.fromWeb(response.body as never), file.createWriteStream());
  return `${path} is in ${target} now.`;
}

async function put({ client, at }: Files, from?: string, path?: string): Promise<string> {
  if (from === undefined) throw new Error('Which file? /put from [path]');
  const { size } = await stat(from);
  const name = path ?? basename(from);
  await client.send('PUT', `${at}/${encoded(name)}`, {
    headers: { 'content-type': 'application/octet-stream', 'content-length': String(size) },
    body: Readable.toWeb(createReadStream(from)) as ReadableStream,
  });
  return `${name} is among the files of this thread now (${size} bytes).`;
}

const encoded = (path: string) =>
  path
    .replace(/^\.?\//, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/');

/** Words of a line; a name with blanks is in quotes. */
const wordsOf = (line: string): string[] =>
  (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"(.*)"$/, '$1'));
