/** Paths of files within a workspace: relative, `/` between parts, never out of the folder. */
import { AppError } from '@harness/contracts';

/** Longest path, characters. */
export const maxPathChars = 1024;
/** Deepest path, parts. */
export const maxDepth = 64;
const maxPartBytes = 255;

/** Why this is not the path of a file in a workspace; undefined = it is one. */
export function pathProblem(path: string): string | undefined {
  if (path.length === 0) return 'it is empty';
  if (path.length > maxPathChars) return `it has more than ${maxPathChars} characters`;
  if (!path.isWellFormed() || path.includes('\0')) return 'it is not valid text';
  const parts = path.split('/');
  if (parts.length > maxDepth) return `it is more than ${maxDepth} folders deep`;
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..')
      return 'it must be relative, with one "/" between its parts, and without "." and ".."';
    if (Buffer.byteLength(part) > maxPartBytes) return `a part of it has more than ${maxPartBytes} bytes`;
  }
  return undefined;
}

/** Returns the path. Throws `invalid_request` for one that a file in a workspace cannot have. */
export function checkPath(path: string): string {
  const problem = pathProblem(path);
  if (problem === undefined) return path;
  const shown = JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path);
  throw new AppError('invalid_request', `A file cannot have the path ${shown}: ${problem}.`);
}

/** The path of the folder in which it lies; '' = the workspace itself. */
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The last part of a path. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
