/**
 * Runs the hooks of all plugins, in plugin order, each on its own: a failure or a passed time limit is logged with
 * the plugin's name and the turn goes on. The review of a task is the exception: there, silence is no consent.
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

/** Methods never reject. */
export interface HookRunner {
  message(threadId: string, role: 'user' | 'assistant' | 'system', content: string): Promise<void>;
  /** The prompt after every rewrite; a hook that fails or returns no string leaves it as it was. */
  beforeInvoke(threadId: string, prompt: string, turn: PluginTurn): Promise<string>;
  afterInvoke(threadId: string, result: string): Promise<void>;
  taskCreate(threadId: string, taskId: string): Promise<void>;
  /** Every hook is called; accepted when each accepts or says nothing, otherwise the first that does not decides. */
  taskComplete(threadId: string, taskId: string, result: string): Promise<TaskVerdict>;
  taskFailed(threadId: string, taskId: string, error: ErrorBody): Promise<void>;
  broadcast(event: string, data: unknown): Promise<void>;
}

export interface RegisteredHooks {
  pluginName: string;
  hooks: PluginHooks;
}

export interface HookRunnerDeps {
  registered: readonly RegisteredHooks[];
  /** The hooks of others rest. */
  isEnabled?(pluginName: string): boolean;
  logger: PluginLogger;
  hookTimeoutMs: number;
  /** For `onTaskComplete`, where a model answers. */
  reviewTimeoutMs: number;
}

type HookName = keyof PluginHooks;

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
          // Nothing at all is how older hooks say "as it is".
          if (typeof rewritten === 'string') current = rewritten;
          else if (rewritten !== undefined) throw new TypeError(`returned ${typeof rewritten}, not a string`);
        } catch (err) {
          logger.error(
            { err, plugin: pluginName, hook: 'onBeforeInvoke' },
            'hook failed; prompt left as it was',
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

/** Throws for anything that is not clearly a verdict. */
function parseVerdict(answer: unknown): TaskVerdict {
  if (answer === undefined) return { accepted: true };
  if (typeof answer === 'object' && answer !== null && 'accepted' in answer) {
    if (answer.accepted === true) return { accepted: true };
    const feedback = 'feedback' in answer ? answer.feedback : undefined;
    if (answer.accepted === false && typeof feedback === 'string' && /\S/.test(feedback)) {
      return { accepted: false, feedback };
    }
  }
  throw new TypeError('the verdict was neither {accepted: true} nor {accepted: false, feedback}');
}
