/** Requests for input: how a handler makes one, and the check that the client can handle it. */
import { AppError } from '@harness/contracts';
import type { InputRequest, InputRequired } from '../contract/contract.ts';
import { boundedJsonOf } from './bound-result.ts';

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

/**
 * Returns what a handler asks for with clean text. Throws `tool_failed` for a request that MCP does not have and for one that
 * is too large, `capability_missing` for one this client cannot handle.
 */
export function acceptInputRequired(
  { inputRequests, ...rest }: InputRequired,
  capabilities: Readonly<Record<string, unknown>>,
): InputRequired {
  const asked = JSON.parse(boundedJsonOf('request for input', inputRequests ?? {})) as typeof inputRequests;
  const requests = Object.values(asked);
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
  return { ...rest, inputRequests: asked };
}
