/**
 * Checks what a plugin passes to its context. Its types are not enforced at run time, and arguments from a plugin process are
 * any JSON: a value of a wrong type must reach neither a script nor the client of Redis.
 */
import { AppError, busTools, CreateTask, shortened } from '@harness/contracts';
import type { PluginContext } from '@harness/plugin-kit';
import { z } from 'zod';

type CheckedParts = Pick<
  PluginContext,
  'invoker' | 'threads' | 'tasks' | 'bus' | 'tools' | 'store' | 'notify'
> & {
  /** The methods of the context itself. */
  own: Pick<PluginContext, 'broadcast'>;
};

const text = z.string();
const tenant = z.object({ tenant: text });
/** Longest time of a Node timer. */
const maxWaitMs = 2 ** 31 - 1;
const timeoutMs = z.int().min(0).max(maxWaitMs);
const signal = z.instanceof(AbortSignal).optional();
const session = { model: text.optional(), sessionId: text.optional(), threadId: text.optional() };

/** A list; its length is checked first, because a list of millions of wrong elements would make as many problems. */
const list = <Item extends z.ZodType>(items: Item, most: number) =>
  z
    .unknown()
    .refine((value) => !Array.isArray(value) || value.length <= most, { error: `at most ${most} elements` })
    .pipe(z.array(items));

const { submit_task, register_worker, poll_task, ack_task, heartbeat_task, worker_done, task_failed } =
  busTools;
const label = submit_task.input.shape.requires.unwrap().element;
const labels = list(label, 32).optional();

/** The arguments of each method; further arguments are ignored. */
const schemas: { [Part in keyof CheckedParts]: Record<keyof CheckedParts[Part], z.ZodType[]> } = {
  invoker: {
    invoke: [text, z.object({ ...session, timeout: z.number().min(0).max(maxWaitMs).optional() }).optional()],
    prewarm: [z.object(session).optional()],
  },
  threads: { get: [text], history: [text, z.object({ limit: z.int().min(1) })] },
  tasks: {
    // Unknown fields are refused: they would become arguments of the script that creates the task.
    create: [
      CreateTask.extend({
        prompt: text, // the instructions of a skill have no limit
        parentThreadId: text.optional(),
        allowedTools: list(text, 500).optional(),
        skill: z.object({ name: text, arguments: text }).optional(),
        toolUseId: text.optional(),
        runId: text.optional(),
        attempt: z.int().optional(),
        principal: z.object({ keyId: text, tenant: text, scopes: list(text, 500) }),
      }),
    ],
    get: [text],
    wait: [text, z.object({ timeoutMs, signal })],
    watch: [text],
    checkin: [z.object({ taskId: text, message: text, toolUseId: text.optional() })],
  },
  bus: {
    submit: [submit_task.input.extend({ ...tenant.shape, requires: labels })],
    register: [register_worker.input.extend({ ...tenant.shape, labels })],
    poll: [poll_task.input.extend({ ...tenant.shape, timeoutMs, signal })],
    ack: [ack_task.input.extend(tenant.shape)],
    heartbeat: [heartbeat_task.input.extend(tenant.shape)],
    done: [worker_done.input.omit({ result: true }).extend(tenant.shape)],
    failed: [task_failed.input.omit({ reason: true }).extend(tenant.shape), task_failed.input.shape.reason],
    reset: [text, busTools.reset_worker.input.shape.workerName],
    retry: [text, busTools.retry_task.input.shape.taskId],
    stats: [text],
    workers: [text, z.object({ limit: z.int().min(1), offset: z.int().min(0) })],
  },
  tools: { call: [text], narrow: [z.object({ runId: text.optional() }), list(text, 1_000)] },
  store: { get: [text], set: [text], delete: [text] },
  notify: { resourceUpdated: [text], listChanged: [z.enum(['tools', 'resources', 'prompts'])] },
  own: { broadcast: [text] },
};

/**
 * A part of the context whose methods reject with `invalid_request`, which names the field, for wrong arguments. `path`: where
 * plugins find the part.
 */
export function withCheckedInput<Name extends keyof CheckedParts>(
  part: Name,
  methods: CheckedParts[Name],
  path = `ctx.${part}`,
): CheckedParts[Name] {
  const checked = Object.entries(schemas[part] as Record<string, z.ZodType[]>).map(([name, expected]) => [
    name,
    async (...args: unknown[]) => {
      check(`${path}.${name}`, expected, args);
      return (Reflect.get(methods, name) as (...given: unknown[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(checked) as CheckedParts[Name];
}

const maxProblems = 5;
const maxProblemChars = 300;

function check(method: string, expected: z.ZodType[], args: unknown[]): void {
  const problems = expected.flatMap((schema, i) =>
    (schema.safeParse(args[i]).error?.issues ?? [])
      .slice(0, maxProblems)
      .map(({ path, message }) =>
        shortened(`${path.join('.') || `argument ${i + 1}`}: ${message}`, maxProblemChars),
      ),
  );
  if (problems.length > 0) throw new AppError('invalid_request', `${method}: ${problems.join('; ')}`);
}
