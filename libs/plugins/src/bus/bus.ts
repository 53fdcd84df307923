/** The built-in plugin `bus`: the tools of external workers. */
import {
  AppError,
  type BusInput,
  type BusOutput,
  type BusToolName,
  busAliasesOf,
  busTools,
  defaultPollMs,
  maxPollMs,
} from '@harness/contracts';
import {
  definePlugin,
  defineTool,
  invisibleIn,
  type PluginBus,
  type PluginTool,
  type PluginToolMeta,
  type ToolResult,
} from '@harness/plugin-kit';
import { z } from 'zod';

/** The plugin's name, which is also the scope of its tools. */
export const busPluginName = 'bus';

interface BusCall {
  bus: PluginBus;
  tenant: string;
  signal: AbortSignal;
}

/** The code of each tool. Its schemas and texts are in the table `busTools` of contracts. */
const handlers: {
  [Name in BusToolName]: (call: BusCall, input: BusInput<Name>) => Promise<BusOutput<Name>>;
} = {
  async submit_task({ bus, tenant }, input) {
    const { taskId } = input;
    const { state, existing } = await bus.submit({ tenant, ...input });
    const message = existing
      ? `The task "${taskId}" was submitted before; it is ${state}.`
      : `The task "${taskId}" is ${state}.`;
    return { message, taskId, state, existing };
  },
  async register_worker({ bus, tenant }, input) {
    const { name } = input;
    const unseen = invisibleIn(name);
    if (unseen)
      throw new AppError('invalid_tool_input', `The name has an invisible character (${unseen}); remove it.`);
    const { state, labels } = await bus.register({ tenant, ...input });
    const next = state === 'pending' || state === 'executing' ? 'It has a task.' : 'Call poll_task.';
    return { message: `"${name}" is registered and ${state}. ${next}`, name, labels, state };
  },
  async poll_task({ bus, tenant, signal }, { name, timeoutMs = defaultPollMs }) {
    const task = await bus.poll({ tenant, name, timeoutMs: Math.min(timeoutMs, maxPollMs), signal });
    if (!task) return { message: 'There was no task for you. Call poll_task again.', taskId: null };
    const message = `The task "${task.taskId}" is yours. Acknowledge it with ack_task before ${task.acknowledgeBy}, then work on its payload, and end it with worker_done or task_failed; send the lease, or your name, each time.`;
    return { message, ...task };
  },
  async ack_task({ bus, tenant }, input) {
    const { taskId } = input;
    const { deadline } = await bus.ack({ tenant, ...input });
    const message = `The task "${taskId}" is in progress. End it before ${deadline}, or send heartbeats.`;
    return { message, taskId, state: 'in_progress', deadline };
  },
  async heartbeat_task({ bus, tenant }, input) {
    const { taskId } = input;
    const { deadline } = await bus.heartbeat({ tenant, ...input });
    const message = `The task "${taskId}" stays yours until ${deadline}; the next heartbeat must come before.`;
    return { message, taskId, state: 'in_progress', deadline };
  },
  async worker_done({ bus, tenant }, { result, ...hold }) {
    const { taskId } = hold;
    const { existing } = await bus.done({ tenant, ...hold }, result);
    const again = existing ? ' This result was accepted before.' : '';
    return { message: `The task "${taskId}" is done.${again}`, taskId, state: 'done', existing };
  },
  async task_failed({ bus, tenant }, { reason, ...hold }) {
    const { taskId } = hold;
    const { existing, final } = await bus.failed({ tenant, ...hold }, reason);
    return {
      message: final
        ? `The task "${taskId}" has failed, and so has the delegated task that it belongs to.`
        : `The task "${taskId}" is blocked until retry_task is called.`,
      taskId,
      state: 'blocked',
      existing,
    };
  },
  async get_status({ bus, tenant }) {
    const [stats, workerStates] = await Promise.all([
      bus.stats(tenant),
      bus.workers(tenant, { limit: 100, offset: 0 }),
    ]);
    const message = `${stats.depth} tasks wait, ${stats.assigned} are assigned, ${stats.inProgress} in progress, ${stats.blocked} blocked, ${stats.dead} dead; ${stats.workersPolling} of ${stats.workers} workers wait.`;
    return { message, ...stats, workerStates };
  },
  async reset_worker({ bus, tenant }, { workerName: name }) {
    const { before, taskId } = await bus.reset(tenant, name);
    const back = taskId === null ? '' : ` Its task "${taskId}" is back in the queue.`;
    return { message: `"${name}" was ${before} and is idle.${back}`, name, before, taskId };
  },
  async retry_task({ bus, tenant }, { taskId }) {
    const { before, state } = await bus.retry(tenant, taskId);
    return { message: `The task "${taskId}" was ${before} and is ${state}.`, taskId, before, state };
  },
};

function toolOf(name: BusToolName): PluginTool {
  const { input, output, title, description, annotations, idempotent, ...rest } = busTools[name];
  const handle = handlers[name] as (call: BusCall, input: unknown) => Promise<Record<string, unknown>>;
  return defineTool({
    name,
    title,
    description,
    input,
    outputSchema: z.toJSONSchema(output, { target: 'draft-2020-12', io: 'input' }),
    annotations,
    idempotent,
    scope: busPluginName,
    aliases: busAliasesOf(name),
    ...('timeoutMs' in rest ? { timeoutMs: rest.timeoutMs } : {}),
    handler: async ({ bus }, checked, { principal, signal }: PluginToolMeta): Promise<ToolResult> => {
      const returned = await handle({ bus, tenant: principal.tenant, signal }, checked);
      // The text repeats everything, for clients that do not read structured content.
      return { content: [{ type: 'text', text: JSON.stringify(returned) }], structuredContent: returned };
    },
  });
}

/** Offers the tools of the bus; dispatch does the work. */
export const bus = definePlugin({
  name: busPluginName,
  version: '1.0.0',
  tools: (Object.keys(busTools) as BusToolName[]).map(toolOf),
  register: () => ({}),
});
