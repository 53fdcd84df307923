/** `npm run keys`: creates, lists and revokes the API keys of a file. */
import { ConfigError, parseOptions, runMain } from '@harness/runtime';
import { loadKeysConfig } from '../config.ts';
import type { Scope } from '../http/credentials/scopes.ts';
import { createKey, readKeys, revokeKey } from './edit-keys.ts';

const text = { type: 'string' } as const;
const options = {
  file: text,
  id: text,
  tenant: text,
  scopes: text,
  tools: text,
  'not-before': text,
  'not-after': text,
  help: { type: 'boolean' },
} as const;

const usage = `Usage: npm run keys -- create --id ID [--tenant NAME] [--scopes a,b] [--tools x,y__*]
                             [--not-before TIME] [--not-after TIME]
       npm run keys -- list
       npm run keys -- revoke --id ID

  --file PATH   the key file; HARNESS_API_KEYS_FILE unless given. Gateways read changes within 2 s.
  --tenant      default
  --scopes      threads,tools,tasks
  TIME          as 2027-01-01T00:00:00Z

The new key is printed once; the file has its hash alone.`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const listOf = (names: string): string[] => names.split(',').map((name) => name.trim());

runMain(async () => {
  const [action, ...rest] = process.argv.slice(2);
  const given = parseOptions(rest, options, usage);
  if (action === undefined || action === '--help' || given.help) return print(usage);
  const file = given.file ?? loadKeysConfig();
  if (file === undefined) throw new ConfigError(`Name the key file: --file PATH.\n\n${usage}`);
  if (action === 'list') {
    for (const { keySha256: _, ...key } of await readKeys(file)) print(JSON.stringify(key));
    return;
  }
  const { id, tenant = 'default', 'not-before': notBefore, 'not-after': notAfter } = given;
  if (id === undefined) throw new ConfigError(`Name the key: --id ID.\n\n${usage}`);
  if (action === 'revoke') return revokeKey(file, id);
  if (action !== 'create') throw new ConfigError(`There is no action "${action}".\n\n${usage}`);
  const key = await createKey(file, {
    id,
    tenant,
    scopes: listOf(given.scopes ?? 'threads,tools,tasks') as Scope[],
    ...(given.tools && { tools: listOf(given.tools) }),
    ...(notBefore && { notBefore }),
    ...(notAfter && { notAfter }),
  });
  print(key);
});
