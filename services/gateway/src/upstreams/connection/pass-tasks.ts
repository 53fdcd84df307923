import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** Methods that the SDK refuses to send in 2026-07-28, because it does not have the extension; sent under another name until here. */
const alias = 'harness/';
const reused = new Set(['tasks/get', 'tasks/cancel']);

/** The name under which the SDK's client sends a method of the tasks extension. */
export const sendableMethodOf = (method: string): string =>
  reused.has(method) ? `${alias}${method}` : method;

/**
 * Lets the tasks extension of MCP 2026-07-28 pass the SDK's client: its methods on their way out, and the result of a tool call that
 * became a task on its way in, as `{content: [], task}`, which is the shape that 2025-11-25 has.
 */
export function passTasks(transport: Transport): void {
  const [send, read] = [transport.send.bind(transport), transport.onmessage];
  transport.send = (message, options) => send(withOwnMethod(message), options);
  transport.onmessage = (message, extra) => read?.(withReadableTask(message), extra);
}

function withOwnMethod(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || !message.method.startsWith(alias)) return message;
  return { ...message, method: message.method.slice(alias.length) };
}

function withReadableTask(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || message.result?.resultType !== 'task') return message;
  return { ...message, result: { resultType: 'complete', content: [], task: message.result } };
}
