import { readFile, rename, writeFile } from 'node:fs/promises';
import { ConfigError } from '@harness/runtime';
import { type ApiKey, newKey, parseApiKeys, sha256Of } from './api-keys.ts';

/** What a new key is given. */
export type NewKey = Omit<ApiKey, 'keySha256'>;

/** Reads the keys of a file; a file that does not exist has none. Throws ConfigError for one that is not valid. */
export async function readKeys(file: string): Promise<ApiKey[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw new ConfigError(`${file} cannot be read: ${error.message}`);
  });
  try {
    return parseApiKeys(text);
  } catch (error) {
    throw new ConfigError(`${file} is not a key file: ${(error as Error).message}`);
  }
}

/** Adds a key to a file and returns it: it is stored nowhere. Throws ConfigError for an id that exists. */
export async function createKey(file: string, wanted: NewKey): Promise<string> {
  const keys = await readKeys(file);
  if (keys.some(({ id }) => id === wanted.id))
    throw new ConfigError(`There is a key "${wanted.id}" already: revoke it first, or choose another id.`);
  const key = newKey();
  await writeKeys(file, [...keys, { ...wanted, keySha256: sha256Of(key).toString('hex') }]);
  return key;
}

/** Removes a key from a file. Throws ConfigError for an id that is not there. */
export async function revokeKey(file: string, id: string): Promise<void> {
  const keys = await readKeys(file);
  if (!keys.some((key) => key.id === id))
    throw new ConfigError(`There is no key "${id}" in ${file}. "npm run keys -- list" lists the keys.`);
  await writeKeys(
    file,
    keys.filter((key) => key.id !== id),
  );
}

/** Replaces the file as a whole, so that a gateway never reads half of it; only its owner may read it. */
async function writeKeys(file: string, keys: readonly ApiKey[]): Promise<void> {
  const text = `${JSON.stringify(keys, undefined, 2)}\n`;
  try {
    parseApiKeys(text);
  } catch (error) {
    throw new ConfigError(`The key is not valid: ${(error as Error).message}`);
  }
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
