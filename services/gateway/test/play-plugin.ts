/** Tools that a test controls: it sees on which gateway they run, and when they continue. */
import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { definePlugin, type InputRequest, needInput, type PluginDefinition } from '@harness/plugin-kit';

export interface Play {
  plugin: PluginDefinition;
  /** Resolves at the handler's next report: `started`, `aborted`. */
  next(event: 'started' | 'aborted'): Promise<Record<string, unknown>>;
  /** Lets the waiting `steps` call take this many more steps. */
  go(steps?: number): void;
}

const schema = { type: 'object' };
const question: InputRequest = {
  method: 'elicitation/create',
  params: {
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
};

/** One plugin per gateway; `place` is the gateway's name in its results. */
export function createPlay(place: string): Play {
  const events = new EventEmitter();
  let granted = 0;
  const step = async () => {
    while (granted === 0) await once(events, 'go');
    granted--;
  };
  /** Runs until the caller cancels. */
  const untilAborted = async (signal: AbortSignal, label: unknown): Promise<never> => {
    events.emit('started', { place, label, signal });
    if (!signal.aborted) await once(signal, 'abort');
    events.emit('aborted', { place, label, reason: String((signal.reason as Error).message) });
    throw signal.reason;
  };
  const description = 'Of a test';
  const plugin = definePlugin({
    name: 'play',
    version: '1.0.0',
    tools: [
      { name: 'where', description, schema, handler: () => place },
      {
        name: 'echo',
        description,
        schema,
        async handler(_ctx, { text, turns }, { progress }) {
          progress(1, 2, String(text));
          for (let n = 0; n < Number(turns); n++) await setImmediate();
          return String(text);
        },
      },
      {
        name: 'shout',
        description,
        schema,
        handler(_ctx, { count, chars }, { progress }) {
          for (let n = 1; n <= Number(count); n++) progress(n, Number(count), 'x'.repeat(Number(chars)));
          return 'done';
        },
      },
      {
        name: 'hang',
        description,
        schema,
        handler: (_ctx, { label }, { signal }) => untilAborted(signal, label),
      },
      {
        name: 'long',
        description,
        schema,
        task: 'optional',
        handler: (_ctx, { label }, { signal }) => untilAborted(signal, label),
      },
      {
        name: 'job',
        description,
        schema,
        task: 'optional',
        async handler(_ctx, { fails }) {
          events.emit('started', { place });
          await step();
          if (fails) throw new Error('The job failed.');
          return `done at ${place}`;
        },
      },
      {
        name: 'asking-job',
        description,
        schema,
        task: 'required',
        handler: (_ctx, { hangs }, { inputs: { who }, signal }) => {
          if (!who) return needInput({ who: question }, { askedAt: place });
          return hangs ? untilAborted(signal, 'asked') : `${JSON.stringify(who)} at ${place}`;
        },
      },
      {
        name: 'steps',
        description,
        schema,
        async handler(_ctx, { upTo }, { progress }) {
          for (let n = 1; n <= Number(upTo); n++) {
            await step();
            progress(n, Number(upTo));
          }
          return `${upTo} steps at ${place}`;
        },
      },
      {
        name: 'ask',
        description,
        schema,
        handler: (_ctx, _input, { inputs: { who }, state }) =>
          who ? JSON.stringify({ who, state, place }) : needInput({ who: question }, { askedAt: place }),
      },
      {
        name: 'ask-too',
        description,
        schema,
        handler: (_ctx, _input, { state }) => JSON.stringify({ state }),
      },
      {
        name: 'chat',
        description,
        schema,
        handler(_ctx, _input, { log }) {
          for (const level of ['debug', 'info', 'warning', 'error'] as const) log(level, level);
          return 'said';
        },
      },
      {
        name: 'touch',
        description,
        schema,
        async handler({ notify }, { uri }) {
          await notify.resourceUpdated(String(uri));
          return 'touched';
        },
      },
      {
        name: 'relist',
        description,
        schema,
        async handler({ notify }) {
          await notify.listChanged('tools');
          return 'told';
        },
      },
    ],
    resources: ['one', 'two'].map((name) => ({ uri: `play://${name}`, name, read: () => place })),
    prompts: [
      {
        name: 'ask',
        get: (_ctx, _args, { inputs: { who }, state }) =>
          who ? JSON.stringify({ state }) : needInput({ who: question }, { askedAt: place }),
      },
    ],
    register: () => undefined,
  });
  return {
    plugin,
    next: async (event) => (await once(events, event))[0],
    go(steps = 1) {
      granted += steps;
      events.emit('go');
    },
  };
}
