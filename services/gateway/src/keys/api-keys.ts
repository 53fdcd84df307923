/**
 * API keys, as the operator writes them down: their hashes, never the keys.
 *
 * This folder:
 *   key-file.ts     follows the file while the gateway runs
 *   edit-keys.ts    creates and revokes keys in the file
 *   note-keys.ts    publishes to the fleet which keys the file has
 *   issued-keys.ts  follows the keys that the API has made
 *   key-rights.ts   the rights of a key that a caller makes
 *   main.ts         `npm run keys`
 */
import { hash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ConfigError } from '@harness/runtime';
import { z } from 'zod';
import { scopes, tenantPattern } from '../http/credentials/scopes.ts';

const time = z.iso.datetime({ offset: true });

/** Schema of an entry of HARNESS_API_KEYS_FILE. */
export const ApiKey = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/),
  keySha256: z.string().regex(/^[0-9a-f]{64}$/),
  tenant: z.string().regex(tenantPattern),
  scopes: z.array(z.enum(scopes)).min(1),
  /** Tools that the key may see and call; `weather__*` is a prefix. Absent: all tools that its scopes allow. */
  tools: z.array(z.string()).optional(),
  /** MCP clients with the key find tools with tools__search, in place of a list of all of them. */
  search: z.boolean().optional(),
  /** From then on the key is accepted. */
  notBefore: time.optional(),
  /** From then on it no longer is. */
  notAfter: time.optional(),
});
/** An entry of HARNESS_API_KEYS_FILE. */
export type ApiKey = z.infer<typeof ApiKey>;

/** A new key: random, and recognizable by its prefix. */
export const newKey = (): string => `hk_${randomBytes(32).toString('base64url')}`;

/** SHA-256 of a key. */
export const sha256Of = (key: string): Buffer => hash('sha256', key, 'buffer');

/** A digest of the secret and the rights of a key: it differs when they do. */
export const fingerprintOf = ({ keySha256, scopes, tools }: ApiKey): string =>
  hash('sha256', JSON.stringify([keySha256, scopes, tools]));

/** Returns HARNESS_API_KEY as a key: id `env`, tenant `default`, all scopes. */
export const apiKeyOf = (key: string): ApiKey => ({
  id: 'env',
  keySha256: sha256Of(key).toString('hex'),
  tenant: 'default',
  scopes: [...scopes],
});

/** Parses the text of a key file. Throws an Error that names every problem. */
export function parseApiKeys(text: string): ApiKey[] {
  const parsed = z.array(ApiKey).safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  const ids = parsed.data.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) throw new Error(`the id "${repeated}" is used twice`);
  return parsed.data;
}

/**
 * Reads HARNESS_API_KEYS_FILE: `[{id, keySha256, tenant, scopes, tools?, search?, notBefore?, notAfter?}]`. Throws ConfigError when
 * the file cannot be read or is not valid.
 */
export async function loadApiKeys(file: string): Promise<ApiKey[]> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(`HARNESS_API_KEYS_FILE cannot be read: ${error.message}`);
  });
  try {
    return parseApiKeys(text);
  } catch (error) {
    throw new ConfigError(`HARNESS_API_KEYS_FILE (${file}) is not valid: ${(error as Error).message}`);
  }
}
