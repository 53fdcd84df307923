/** "I cannot go on without an answer": how a handler says so, and what of it may reach a client. */
import { AppError } from '@harness/contracts';
import type { InputRequest, InputRequired } from '../contract/contract.ts';

/** What a handler returns to ask the client first; it is called again with the answers in `meta.inputs`. */
export const needInput = (
  inputRequests: Readonly<Record<string, InputRequest>>,
  state?: unknown,
): InputRequired => (state === undefined ? { inputRequests } : { inputRequests, state });

export const isInputRequired = (value: unknown): value is InputRequired =>
  typeof value === 'object' && value !== null && 'inputRequests' in value;

const capabilityOf: Record<InputRequest['method'], string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** Throws `tool_failed` for what no client understands, `capability_missing` for what this one cannot be asked. */
export function checkInputRequired(
  { inputRequests }: InputRequired,
  capabilities: Readonly<Record<string, unknown>>,
): void {
  const requests = Object.values(inputRequests ?? {});
  if (requests.length === 0)
    throw new AppError('tool_failed', 'The tool asked for input without a question.');
  for (const { method } of requests) {
    const capability = capabilityOf[method];
    if (!capability) throw new AppError('tool_failed', `The tool asked the client for "${method}".`);
    if (capabilities[capability]) continue;
    throw new AppError(
      'capability_missing',
      `This needs a client that can be asked: it must declare the capability "${capability}".`,
      { details: { requiredCapabilities: { [capability]: {} } } },
    );
  }
}
