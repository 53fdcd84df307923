/**
 * Runs the hooks of all plugins in plugin order, one after another. A failure or timeout of a hook is logged with the
 * plugin's name, and the turn continues. The review of a task is the exception: a failed review does not accept the
 * result.
 */
import type { ErrorBody } from '@harness/contracts';
import type {
  MaybePromise,
  PluginHooks,
  PluginLogger,
  PluginTurn,
  TaskVerdict,
} from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { withTimeLimit } from '../tools/time-limit.ts';

/** Calls one hook of every enabled plugin. Methods never reject. */
export interface HookRunner {
  message(threadId: string, role: 'user' | 'assistant' | 'system', content: string): Promise<void>;
  /** Returns the prompt after all rewrites. A hook that fails or returns no string leaves it unchanged. */
  beforeInvoke(threadId: string, prompt: string, turn: PluginTurn): Promise<string>;
  afterInvoke(threadId: string, result: string): Promise<void>;
  taskCreate(threadId: string, taskId: string): Promise<void>;
  /** Calls every hook. Accepted if each hook accepts or returns nothing; otherwise the first rejection is returned. */
  taskComplete(threadId: string, taskId: string, result: string): Promise<TaskVerdict>;
  taskFailed(threadId: string, taskId: string, error: ErrorBody): Promise<void>;
  broadcast(event: string, data: unknown): Promise<void>;
}

/** The hooks of one plugin. */
export interface RegisteredHooks {
  pluginName: string;
  hooks: PluginHooks;
}

/** What a hook runner needs. Times are in milliseconds. */
export interface HookRunnerDeps {
  registered: readonly RegisteredHooks[];
  /** Hooks of a disabled plugin are not called. */
  isEnabled?(pluginName: string): boolean;
  logger: PluginLogger;
  hookTimeoutMs: number;
  /** For `onTaskComplete`, which may wait for a model response. */
  reviewTimeoutMs: number;
}

type HookName = keyof PluginHooks;

/** Creates the hook runner of a process. */
export function createHookRunner(deps: HookRunnerDeps): HookRunner {
  const { logger, hookTimeoutMs, reviewTimeoutMs } = deps;
  const { isEnabled = () => true } = deps;
  const having = (name: HookName) =>
    deps.registered.filter(({ pluginName, hooks }) => hooks[name] !== undefined && isEnabled(pluginName));

  const runLimited = <T>(timeoutMs: number, run: () => MaybePromise<T>) =>
    withTimeLimit({ timeoutMs, timeoutError: () => new Error(`took longer than ${timeoutMs} ms`) }, run);

  const runEach = async (name: HookName, run: (hooks: PluginHooks) => MaybePromise<void> | undefined) => {
    for (const { pluginName, hooks } of having(name)) {
      try {
        await runLimited(hookTimeoutMs, () => run(hooks));
      } catch (err) {
        logger.error({ err, plugin: pluginName, hook: name }, 'hook failed');
      }
    }
  };

  return {
    message: (threadId, role, content) =>
      runEach('onMessage', (hooks) => hooks.onMessage?.(threadId, role, content)),
    afterInvoke: (threadId, result) =>
      runEach('onAfterInvoke', (hooks) => hooks.onAfterInvoke?.(threadId, result)),
    taskCreate: (threadId, taskId) =>
      runEach('onTaskCreate', (hooks) => hooks.onTaskCreate?.(threadId, taskId)),
    taskFailed: (threadId, taskId, error) =>
      runEach('onTaskFailed', (hooks) => hooks.onTaskFailed?.(threadId, taskId, error)),
    broadcast: (event, data) => runEach('onBroadcast', (hooks) => hooks.onBroadcast?.(event, data)),

    async beforeInvoke(threadId, prompt, turn) {
      let current = prompt;
      for (const { pluginName, hooks } of having('onBeforeInvoke')) {
        try {
          const given = current;
          const rewritten: unknown = await runLimited(hookTimeoutMs, () =>
            hooks.onBeforeInvoke?.(threadId, given, turn),
          );
          // Older hooks return undefined to leave the prompt unchanged.
          if (typeof rewritten === 'string') current = rewritten;
          else if (rewritten !== undefined) throw new TypeError(`returned ${typeof rewritten}, not a string`);
        } catch (err) {
          logger.error(
            { err, plugin: pluginName, hook: 'onBeforeInvoke' },
            'hook failed; prompt left unchanged',
          );
        }
      }
      return current;
    },

    async taskComplete(threadId, taskId, result) {
      let rejection: TaskVerdict | undefined;
      for (const { pluginName, hooks } of having('onTaskComplete')) {
        try {
          const verdict = parseVerdict(
            await runLimited<unknown>(reviewTimeoutMs, () =>
              hooks.onTaskComplete?.(threadId, taskId, result),
            ),
          );
          if (!verdict.accepted) rejection ??= verdict;
        } catch (err) {
          logger.error(
            { err, plugin: pluginName, hook: 'onTaskComplete', threadId, taskId },
            'review failed',
          );
          rejection ??= {
            accepted: false,
            feedback: `The review by the plugin "${pluginName}" failed, so the result is not accepted: ${textOf(err)}`,
          };
        }
      }
      return rejection ?? { accepted: true };
    },
  };
}

/** Throws for any value that is not a valid verdict. */
function parseVerdict(answer: unknown): TaskVerdict {
  if (answer === undefined) return { accepted: true };
  if (typeof answer === 'object' && answer !== null && 'accepted' in answer) {
    if (answer.accepted === true) return { accepted: true };
    const feedback = 'feedback' in answer ? answer.feedback : undefined;
    if (answer.accepted === false && typeof feedback === 'string' && /\S/.test(feedback)) {
      return { accepted: false, feedback };
    }
  }
  throw new TypeError(
    'the verdict was neither {accepted: true} nor {accepted: false, feedback} with non-blank feedback',
  );
}
