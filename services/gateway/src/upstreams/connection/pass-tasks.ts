import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** Methods that the SDK refuses to send in 2026-07-28, because it does not have the extension; sent under another name until here. */
const alias = 'harness/';
const reused = new Set(['tasks/get', 'tasks/cancel']);

/** The name under which the SDK's client sends a method of the tasks extension. */
export const sendableMethodOf = (method: string): string =>
  reused.has(method) ? `${alias}${method}` : method;

/**
 * Lets pass the SDK's client what it refuses of MCP 2026-07-28. The tasks extension: its methods on their way out, and the result of a
 * tool call that became a task on its way in, as `{content: [], task}`, which is the shape that 2025-11-25 has. And results without
 * `resultType`, which that version requires: servers that grew from the versions before forget it, and mean a complete result.
 */
export function passTasks(transport: Transport): void {
  const [send, read] = [transport.send.bind(transport), transport.onmessage];
  transport.send = (message, options) => send(withOwnMethod(message), options);
  transport.onmessage = (message, extra) => read?.(withReadableResult(message), extra);
}

function withOwnMethod(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || !message.method.startsWith(alias)) return message;
  return { ...message, method: message.method.slice(alias.length) };
}

function withReadableResult(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message)) return message;
  const { result } = message;
  if (result?.resultType === undefined) return { ...message, result: { ...result, resultType: 'complete' } };
  if (result.resultType !== 'task') return message;
  return { ...message, result: { resultType: 'complete', content: [], task: result } };
}
