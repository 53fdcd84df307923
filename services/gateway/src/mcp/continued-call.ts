import type { ToolResult } from '@harness/plugin-kit';
import { tasksExtension } from './wire/server-identity.ts';

/** Key of a result's `_meta` with which a tool hands its call over to a task: the `state` in which it is called again. */
export const continuesKey = 'harness/continues';

/** Whether the client's capabilities include the tasks extension. */
export const knowsTasks = ({ extensions }: Readonly<Record<string, unknown>>): boolean =>
  typeof extensions === 'object' && extensions !== null && tasksExtension in extensions;

/**
 * The capabilities without the tasks extension, for a tool whose caller cannot be given a task: a session, a client of the 2025
 * protocols, a call that is a task already.
 */
export function withoutTasks(capabilities: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (!knowsTasks(capabilities)) return capabilities;
  const { [tasksExtension]: _, ...extensions } = capabilities.extensions as Record<string, unknown>;
  return { ...capabilities, extensions };
}

/** The result of a tool call that continues as a task, from this state; only for callers that support tasks. */
export const continuedResult = (state: object): ToolResult => ({
  content: [{ type: 'text', text: 'The call continues as a task.' }],
  _meta: { [continuesKey]: state },
});
