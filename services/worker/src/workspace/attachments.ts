import { extname } from 'node:path';
import { workspacePath } from '@harness/sandbox';
import type { TenantFiles } from '@harness/workspaces';

/** Part of a prompt, besides its text, as the Messages API takes it. */
export type PromptBlock =
  | { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } }
  | { type: 'document'; source: { type: 'base64'; media_type: 'application/pdf'; data: string } }
  | { type: 'text'; text: string };
type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

const imageTypes: Record<string, ImageType> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

/** Largest file that the model sees, by kind, and largest sum for a message, bytes; larger ones are only in the workspace. */
const most = { image: 3_500_000, document: 20_000_000, sum: 20_000_000 };

/** The files of a message for the model: images and PDF files themselves, and the paths of all. */
export async function attachmentsOf(files: TenantFiles, version: string): Promise<PromptBlock[]> {
  const { entries } = await files.manifest(version);
  const found = [...entries.values()].filter((entry) => entry.kind === 'file');
  const blocks: PromptBlock[] = [];
  let bytes = 0;
  for (const { path, size } of found) {
    const extension = extname(path).toLowerCase();
    const image = imageTypes[extension];
    const limit = image ? most.image : extension === '.pdf' ? most.document : 0;
    if (size === 0 || size > limit || bytes + size > most.sum) continue;
    bytes += size;
    const data = await base64Of(files, version, path);
    if (image) blocks.push({ type: 'image', source: { type: 'base64', media_type: image, data } });
    else blocks.push({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } });
  }
  const paths = found.map(({ path }) => `${workspacePath}/${path}`).join('\n');
  return [
    ...blocks,
    {
      type: 'text',
      text: `<system-reminder>\nThe message came with these files:\n${paths}\n</system-reminder>`,
    },
  ];
}

async function base64Of(files: TenantFiles, version: string, path: string): Promise<string> {
  const { stream } = await files.open(version, path);
  const chunks: Buffer[] = [];
  for await (const chunk of await stream()) chunks.push(chunk);
  return Buffer.concat(chunks).toString('base64');
}
