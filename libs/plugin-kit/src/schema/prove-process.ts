/** The process of prove-schemas.ts: compiles what it is sent, and says before each one which it is. */
import type { ProofMessage } from './prove-schemas.ts';
import { createSchemaCompiler } from './schema.ts';

/** Resolves when it has left: what follows may be this process's last step. */
const tell = (message: ProofMessage) =>
  new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));

process.once('message', async (schemas: string[]) => {
  const compiler = createSchemaCompiler();
  for (const [index, schema] of schemas.entries()) {
    await tell({ compiling: index });
    try {
      compiler.compile(JSON.parse(schema));
    } catch {
      // A schema that is wrong is the validation's to report; this process only tells whether it can be compiled.
    }
  }
  await tell('done');
});
await tell('ready');
