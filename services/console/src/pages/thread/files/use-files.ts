import type { ListedFile } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { ApiError, api, get, getBytes, messageOf, withQuery } from '../../../lib/api.ts';
import type { FileChange } from './file-changes.ts';

/** The files of a version. */
export interface Listing {
  /** Null: the thread has no files. */
  version: string | null;
  /** Files and links, and the sum of their sizes, bytes. */
  count: number;
  bytes: number;
  /** At most the first `mostListed`. */
  files: ListedFile[];
}

/** More entries than this are not listed. */
export const mostListed = 20_000;
/** Larger files are not shown, bytes. */
export const mostShown = 1_000_000;
const atOnce = 5_000;

const pathOf = (threadId: string) => `/v1/threads/${threadId}/files`;

/** Where a file, or with `format` all, can be read; `run`: as they were after it. */
export function urlOf(threadId: string, file: { path?: string; run?: string; format?: 'tar' }): string {
  const { path, ...query } = file;
  const parts = path === undefined ? [] : ['', ...path.split('/').map(encodeURIComponent)];
  return withQuery(`${pathOf(threadId)}${parts.join('/')}`, query);
}

/** The files now, which are read again after `files.changed`, or as they were after a run. */
export const useListing = (threadId: string, run: string | undefined) =>
  useQuery({
    queryKey: ['files', threadId, run ?? 'now'],
    queryFn: ({ signal }) => readListing(threadId, run, signal),
    ...(run !== undefined && { staleTime: Number.POSITIVE_INFINITY }),
  });

async function readListing(threadId: string, run: string | undefined, signal: AbortSignal): Promise<Listing> {
  let listing: Listing | undefined;
  for (;;) {
    const query = { run, limit: atOnce, offset: listing?.files.length ?? 0 };
    const page = await get<Listing & { truncated?: true }>(withQuery(pathOf(threadId), query), signal);
    // Another version has come between two pages: its own pages follow.
    if (listing && listing.version !== page.version) {
      listing = undefined;
      continue;
    }
    listing = { ...page, files: [...(listing?.files ?? []), ...page.files] };
    const isLast = !page.truncated && page.files.length < atOnce;
    if (isLast || listing.files.length >= mostListed) return listing;
  }
}

/** The text of a file; null: it is not text. Not read if it is too large. */
export function useContent(threadId: string, run: string | undefined, file: ListedFile) {
  const { path, kind, size = 0, sha256 } = file;
  return useQuery({
    queryKey: ['file', threadId, path, sha256],
    enabled: kind === 'file' && size <= mostShown,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const { bytes, etag } = await getBytes(urlOf(threadId, { path, ...(run && { run }) }), signal);
      if (etag !== `"${sha256}"`) throw new Error('The file has changed meanwhile.');
      return textOf(bytes);
    },
  });
}

function textOf(bytes: ArrayBuffer): string | null {
  if (new Uint8Array(bytes).includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * What a change changed, as a unified diff; `sinceRun`: compared with the files after the run before, since the version before
 * it is not known any more. Not read for a caller's change where that is so.
 */
export function useDiff(threadId: string, { key, version, before, runId }: FileChange) {
  const read = async (query: Record<string, string>, signal: AbortSignal) => {
    const { bytes } = await getBytes(withQuery(`/v1/threads/${threadId}/diff`, query), signal);
    return new TextDecoder().decode(bytes);
  };
  return useQuery({
    queryKey: ['diff', threadId, key, version],
    enabled: before !== undefined || runId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      if (before !== undefined)
        try {
          return { text: await read({ from: before, to: version }, signal), sinceRun: false };
        } catch (error) {
          // Versions between two runs are discarded after a day.
          if (runId === undefined || !(error instanceof ApiError) || error.status !== 404) throw error;
        }
      return { text: await read({ to: runId ?? version }, signal), sinceRun: true };
    },
  });
}

/** Writes files into a folder, one after the other. Throws an Error that names the one that was refused. */
export async function uploadFiles(threadId: string, folder: string, files: readonly File[]): Promise<void> {
  for (const file of files) {
    const path = folder === '' ? file.name : `${folder}/${file.name}`;
    try {
      await api('PUT', urlOf(threadId, { path }), { body: file });
    } catch (error) {
      throw new Error(`${file.name} is not uploaded: ${messageOf(error)}`);
    }
  }
}

/** Deletes a file, if it still has the digest `sha256`, or a folder and all in it. Throws ApiError. */
export async function deleteFile(threadId: string, path: string, sha256?: string): Promise<void> {
  await api('DELETE', urlOf(threadId, { path }), {
    ...(sha256 !== undefined && { headers: { 'if-match': `"${sha256}"` } }),
  });
}
