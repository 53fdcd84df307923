import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A temporary folder with these files, until the test ends. */
export async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'harness-skills-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** The text of a SKILL.md. */
export const skill = (front: string, body = 'Do it.') => `---\n${front}\n---\n${body}\n`;
/** The same, of a skill without anything special. */
export const plain = (name: string) => skill(`name: ${name}\ndescription: About ${name}`);
