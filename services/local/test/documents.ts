/** The documents of this repository, and the blocks of code in them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Paths of the documents, from the root. */
export const documents = [
  'README.md',
  '.github/CONTRIBUTING.md',
  ...globSync('{libs,services}/*/*.md', { cwd: root }),
];

/** A block of code of a document. */
export interface Block {
  document: string;
  /** `sh`, `ts`, …; '' if the document names none. */
  language: string;
  code: string;
}

/** The text of a file of the repository. */
export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Every block, in the order of the documents. */
export const blocks: readonly Block[] = documents.flatMap((document) =>
  [...textOf(document).matchAll(/^ *(`{3,})(\w*)\n([\s\S]*?)^ *\1$/gm)].map(
    ([, , language = '', code = '']) => ({ document, language, code }),
  ),
);

/** The code of the first block with this text. */
export const blockWith = (text: string): string => blocks.find(({ code }) => code.includes(text))?.code ?? '';
