/** `npm run openapi`: writes openapi.yaml at the root of the repository. */
import { writeFile } from 'node:fs/promises';
import { renderOpenApi } from './render-openapi.ts';

const file = new URL('../../../../openapi.yaml', import.meta.url);
await writeFile(file, await renderOpenApi());
process.exit(0);
