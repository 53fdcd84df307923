/** How an agent reads what a sub-agent of it has made. */
import { extname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { AppError, type Task } from '@harness/contracts';
import type { PluginTool, ToolResult } from '@harness/plugin-kit';
import { isSession } from '../follow-up.ts';

/** A file of a version. */
export interface VersionFile {
  tenant: string;
  version: string;
  path: string;
}

/** Reads versions of files, where they are stored. */
export interface TaskFiles {
  /** The files of a version: paths, and sizes in bytes. */
  list(version: Omit<VersionFile, 'path'>): Promise<{ path: string; size: number }[]>;
  /** At most `most` bytes of a file, from `offset` on, and its size in bytes. Throws `file_not_found`. */
  read(file: VersionFile, part: { offset: number; most: number }): Promise<{ bytes: Buffer; size: number }>;
}

/** Longest part of a text that one call returns, bytes; and the largest image. */
const most = { text: 100_000, image: 3_500_000 };
const mostListed = 500;

const images: Record<string, string> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

/** The tool that reads the files of a task; a session reads only those of tasks that it has delegated. */
export const taskFilesTool = (files: TaskFiles): PluginTool => ({
  name: 'get_files',
  title: 'Files of a task',
  scope: 'tasks',
  description:
    'Reads the files in the workspace of a sub-agent to which you have delegated a task, as they were when its latest turn ended. Without a path it lists them.',
  schema: {
    type: 'object',
    properties: {
      taskId: {
        type: 'string',
        minLength: 1,
        maxLength: 128,
        description: 'As delegation__delegate returned it',
      },
      path: { type: 'string', minLength: 1, maxLength: 1_024, description: 'The file to read, as listed' },
      offset: { type: 'integer', minimum: 0, description: 'Where to begin, bytes; default 0' },
    },
    required: ['taskId'],
    additionalProperties: false,
  },
  idempotent: true,
  annotations: { readOnlyHint: true },
  async handler(ctx, { taskId, path, offset = 0 }, meta) {
    const task = await ctx.tasks.get(String(taskId));
    // For a session, tasks that it has not delegated do not exist.
    if (!task || (isSession(meta) && task.parentThreadId !== meta.threadId))
      throw new AppError(
        'task_not_found',
        `There is no task ${taskId} that you have delegated. Check the id that delegation__delegate returned.`,
      );
    const { tenant, scopes } = meta.principal;
    // The scope that reading these files from their thread requires.
    if (!isSession(meta) && !scopes.includes('threads'))
      throw new AppError('forbidden', 'This key lacks the scope "threads". Use a key that has it.');
    const version = versionOf(task);
    if (path === undefined) return textResult(listOf(await files.list({ tenant, version })));
    const file = { tenant, version, path: withoutFolder(String(path)) };
    return images[extname(file.path).toLowerCase()] && offset === 0
      ? readImage(files, file)
      : readText(files, file, Number(offset));
  },
});

function versionOf({ taskId, status, files }: Task): string {
  if (files) return files.version;
  const reason = status === 'working' ? 'has not changed any files yet' : 'has changed no files';
  throw new AppError('file_not_found', `The sub-agent of task ${taskId} ${reason}.`);
}

/** Sub-agents know their files below this folder. */
const withoutFolder = (path: string) => path.replace(/^(\/workspace)?\/|^\.\//, '');

function listOf(found: readonly { path: string; size: number }[]): string {
  const lines = found
    .slice(0, mostListed)
    .map(({ path, size }) => `${path.replace(/\p{Cc}/gu, '?')} (${size} bytes)`);
  if (found.length > mostListed) lines.push(`and ${found.length - mostListed} more`);
  return lines.length > 0 ? lines.join('\n') : 'There are no files.';
}

async function readText(files: TaskFiles, file: VersionFile, offset: number): Promise<ToolResult> {
  const { bytes, size } = await files.read(file, { offset, most: most.text });
  // A character that the end of this part cuts belongs to the next part.
  const text = new StringDecoder('utf8').write(bytes);
  const decoded = Buffer.from(text);
  const end = offset + decoded.length;
  const isText =
    decoded.equals(bytes.subarray(0, decoded.length)) && !text.includes('\0') && (text !== '' || size === 0);
  if (!isText)
    return {
      ...textResult(`${file.path} is no text (${size} bytes). Ask the sub-agent for what you need of it.`),
      isError: true,
    };
  return textResult(end < size ? `${text}\n[${size} bytes; the rest begins at offset ${end}]` : text);
}

async function readImage(files: TaskFiles, file: VersionFile): Promise<ToolResult> {
  const { bytes, size } = await files.read(file, { offset: 0, most: most.image });
  const mimeType = images[extname(file.path).toLowerCase()] ?? '';
  if (size > bytes.length)
    return { ...textResult(`${file.path} is too large for an image (${size} bytes).`), isError: true };
  return { content: [{ type: 'image', data: bytes.toString('base64'), mimeType }] };
}

const textResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }] });
