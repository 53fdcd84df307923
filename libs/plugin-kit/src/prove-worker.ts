/** The thread of prove-schemas.ts: compiles what it is sent, and says before each one which it is. */
import { parentPort } from 'node:worker_threads';
import type { ProofMessage } from './prove-schemas.ts';
import { createSchemaCompiler } from './schema.ts';

const tell = (message: ProofMessage) => parentPort?.postMessage(message);

parentPort?.once('message', (schemas: string[]) => {
  const compiler = createSchemaCompiler();
  for (const [index, schema] of schemas.entries()) {
    tell({ compiling: index });
    try {
      compiler.compile(JSON.parse(schema));
    } catch {
      // A schema that is wrong is the validation's to report; this thread only tells whether it can be compiled here.
    }
  }
  tell('done');
});
tell('ready');
