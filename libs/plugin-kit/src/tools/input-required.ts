/** Requests for input: how a handler makes one, and the check that the client can handle it. */
import { AppError } from '@harness/contracts';
import type { InputRequest, InputRequired } from '../contract/contract.ts';

/**
 * Makes the return value of a handler that needs input from the client. The handler is called again with the client's
 * responses in `meta.inputs` and `state` in `meta.state`.
 *
 * @example
 * ```ts
 * return needInput({ city: { method: 'elicitation/create', params: { message: 'Which city?' } } });
 * ```
 */
export const needInput = (
  inputRequests: Readonly<Record<string, InputRequest>>,
  state?: unknown,
): InputRequired => (state === undefined ? { inputRequests } : { inputRequests, state });

/** Whether a handler returned a request for input. */
export const isInputRequired = (value: unknown): value is InputRequired =>
  typeof value === 'object' && value !== null && 'inputRequests' in value;

const capabilityOf: Record<InputRequest['method'], string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** Throws `tool_failed` for a request that MCP does not have, `capability_missing` for one this client cannot handle. */
export function checkInputRequired(
  { inputRequests }: InputRequired,
  capabilities: Readonly<Record<string, unknown>>,
): void {
  const requests = Object.values(inputRequests ?? {});
  if (requests.length === 0)
    throw new AppError('tool_failed', 'The tool asked for input, but its inputRequests are empty.');
  for (const { method } of requests) {
    const capability = capabilityOf[method];
    if (!capability)
      throw new AppError(
        'tool_failed',
        `The tool asked the client for "${method}", which is not a request of MCP.`,
      );
    if (capabilities[capability]) continue;
    throw new AppError(
      'capability_missing',
      `This call asks the client for input: the client must declare the capability "${capability}".`,
      { details: { requiredCapabilities: { [capability]: {} } } },
    );
  }
}
