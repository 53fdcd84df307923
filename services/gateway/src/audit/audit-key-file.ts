import type { ApiKey } from '../keys/api-keys.ts';
import type { KeyFile } from '../keys/key-file.ts';
import type { Audit } from './audit.ts';

/** Records each key that was added to the key file, changed or removed, when this gateway reads it. */
export function auditKeyFile(keyFile: KeyFile, audit: Audit): void {
  const byId = () => new Map(keyFile.current().map((key) => [key.id, key]));
  let before = byId();
  const record = ({ id, tenant }: ApiKey, change: string) =>
    audit.record({
      caller: { tenant, keyId: null },
      source: undefined,
      action: `keysFile/${change}`,
      target: id,
      outcome: 'ok',
    });
  keyFile.onChange(() => {
    const now = byId();
    for (const [id, key] of now) {
      const was = before.get(id);
      if (!was) record(key, 'added');
      else if (JSON.stringify(was) !== JSON.stringify(key)) record(key, 'changed');
    }
    for (const [id, key] of before) if (!now.has(id)) record(key, 'removed');
    before = now;
  });
}
