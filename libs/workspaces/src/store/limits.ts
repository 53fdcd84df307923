import { AppError } from '@harness/contracts';

/** Limits of a thread's files. */
export interface FolderLimits {
  /** Sum of sizes. A sparse file counts with its size. */
  bytes: number;
  /** Files, folders and symbolic links. */
  files: number;
}

/** Counts an entry. Throws `limit_reached`. */
export function count(
  counted: { files: number; bytes: number },
  { path, size }: { path: string; size: number },
  limits: FolderLimits,
): void {
  counted.files++;
  counted.bytes += size;
  if (counted.files > limits.files) throw limitReached('threadFiles', limits.files, path);
  if (counted.bytes > limits.bytes) throw limitReached('threadBytes', limits.bytes, path);
}

function limitReached(limit: 'threadFiles' | 'threadBytes', allowed: number, path: string): AppError {
  const noun = limit === 'threadFiles' ? 'files' : 'bytes of files';
  return new AppError(
    'limit_reached',
    `A workspace may have ${allowed} ${noun}, and this one has more (reached at ${JSON.stringify(path)}). Delete some.`,
    { details: { limit, of: 'thread', allowed } },
  );
}
