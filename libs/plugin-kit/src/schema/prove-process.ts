/**
 * The child process of prove-schemas.ts. It compiles the schemas it receives, and reports the index of each before it
 * starts, so that the parent knows which one ended the process.
 */
import type { ProofMessage } from './prove-schemas.ts';
import { createSchemaCompiler } from './schema.ts';

/** Resolves when the message is sent, because the next step may end this process. */
const send = (message: ProofMessage) =>
  new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));

process.once('message', async (schemas: string[]) => {
  const compiler = createSchemaCompiler();
  for (const [index, schema] of schemas.entries()) {
    await send({ compiling: index });
    try {
      compiler.compile(JSON.parse(schema));
    } catch {
      // The validation reports an invalid schema. This process only finds out whether compiling it ends.
    }
  }
  await send('done');
});
await send('ready');
