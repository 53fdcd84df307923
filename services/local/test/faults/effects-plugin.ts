import { appendFileSync, closeSync, openSync } from 'node:fs';
import type { PluginDefinition } from '@harness/plugin-kit';
import type { Effect } from './effects.ts';

/**
 * Loaded by the gateways and workers under test. `effects__record` is an external effect: a line in a file that no fault
 * affects. Two prompts do harm in the worker: `block-worker: MS` blocks its event loop, once in the fleet.
 */
export const plugin: PluginDefinition = {
  name: 'effects',
  version: '1.0.0',
  tools: [
    {
      name: 'record',
      description: 'Records an effect',
      schema: {
        type: 'object',
        properties: {
          n: { type: 'integer' },
          agent: { type: 'string' },
          epoch: { type: ['integer', 'null'] },
        },
        required: ['n'],
      },
      handler(_ctx, input, { threadId, runId, attempt }) {
        const { n, agent, epoch } = input as Pick<Effect, 'n' | 'agent' | 'epoch'>;
        record({ kind: 'effect', at: Date.now(), threadId, runId, attempt, n, agent, epoch });
        return 'recorded';
      },
    },
    {
      name: 'wait',
      description: 'Waits until the call is cancelled, at most 10 s; records how it ended',
      schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      async handler(_ctx, { n }, { threadId, signal }) {
        record({ kind: 'waiting', at: Date.now(), threadId, n: Number(n) });
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 10_000);
          signal.addEventListener('abort', () => {
            clearTimeout(timer);
            resolve();
          });
        });
        const kind = signal.aborted ? 'cancelled' : 'waited';
        record({ kind, at: Date.now(), threadId, n: Number(n) });
        return kind;
      },
    },
  ],
  register: () => ({
    onBeforeInvoke(_threadId, prompt) {
      const ms = /^block-worker: (\d+)/.exec(prompt)?.[1];
      if (ms && isFirst('block-worker')) blockFor(Number(ms));
      return prompt;
    },
    onTaskComplete(threadId) {
      record({ kind: 'reviewed', at: Date.now(), threadId, n: 0 });
    },
  }),
};

const record = (effect: Effect) =>
  appendFileSync(process.env.FAULTS_LEDGER ?? '', `${JSON.stringify(effect)}\n`);

function isFirst(name: string): boolean {
  try {
    closeSync(openSync(`${process.env.FAULTS_LEDGER}.${name}`, 'wx'));
    return true;
  } catch {
    return false;
  }
}

function blockFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
