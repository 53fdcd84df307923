import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openFileStore, type TenantFiles } from '../src/index.ts';

/** Limits that no test reaches by accident. */
export const limits = { bytes: 50_000_000, files: 10_000 };

/** An empty folder, removed after the test. */
export function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'harness-files-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A store in a folder of its own, and a workspace. */
export function openStore(): { dir: string; files: TenantFiles; work: string; another(): string } {
  const dir = join(newFolder(), 'store');
  const another = () => {
    const path = join(newFolder(), 'work');
    mkdirSync(path);
    return path;
  };
  return { dir, files: openFileStore({ dir }).of('default'), work: another(), another };
}

/** The whole of a stream. */
export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
