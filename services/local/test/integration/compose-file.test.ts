import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';

const fileOf = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

test.each(['docker-compose.yml', 'services/worker/workspaces.yml'])(
  '%s is strict YAML: docker compose refuses a key that stands twice',
  (path) => {
    const { errors } = parseDocument(fileOf(path), { merge: true });
    expect(errors.map(({ message }) => message)).toEqual([]);
  },
);
