import { AppError } from '@harness/contracts';
import { type InputRequired, isInputRequired } from '@harness/plugin-kit';
import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../http/credentials/authenticate.ts';
import type { MethodResult } from '../methods.ts';
import type { Params } from '../wire/json-rpc.ts';

/** The request that state is bound to: its caller, method, and tool, prompt or resource. */
export interface Asked {
  caller: Caller;
  method: string;
  params: Params;
}

/**
 * State of a call in several rounds. It travels through the client, sealed for one caller and one request,
 * and expires after an hour.
 */
export interface RequestStates {
  /**
   * Returns the state; undefined in the first round. Throws `invalid_request` if it was issued for another request or caller,
   * was altered, or has expired.
   */
  open(sealed: string | undefined, asked: Asked): Promise<unknown> | undefined;
  /**
   * Converts a method's result to this era's format: complete, a question with its sealed state, or a task.
   */
  toWire(result: MethodResult, asked: Asked): object | Promise<object>;
}

const stateTtlSeconds = 3_600;

/** `secrets` must be the same at every gateway: the first one seals, all open. */
export function createRequestStates(secrets: readonly string[]): RequestStates {
  const codecs = secrets.map((secret) =>
    createRequestStateCodec<{ state: unknown }>({
      key: `harness/request-state/${secret}`.padEnd(32, '.'),
      ttlSeconds: stateTtlSeconds,
      bind: (ctx) => ctx as unknown as string,
    }),
  );
  const boundTo = ({ caller: { principal }, method, params }: Asked) => {
    const target = String(params.name ?? params.uri ?? '');
    return [principal.tenant, principal.keyId, method, target].join('\0') as unknown as ServerContext;
  };
  const unseal = async (sealed: string, asked: Asked): Promise<unknown> => {
    try {
      const context = boundTo(asked);
      return (await Promise.any(codecs.map((codec) => codec.verify(sealed, context)))).state;
    } catch (cause) {
      throw new AppError(
        'invalid_request',
        'requestState was not issued for this request, or has expired. Call again without it.',
        { cause },
      );
    }
  };
  const seal = async (state: unknown, asked: Asked): Promise<string> =>
    (codecs[0] as (typeof codecs)[number]).mint({ state }, boundTo(asked));
  const questionOf = async ({ inputRequests, state }: InputRequired, asked: Asked): Promise<object> => ({
    resultType: 'input_required',
    inputRequests,
    ...(state !== undefined && { requestState: await seal(state, asked) }),
  });
  return {
    open: (sealed, asked) => (sealed === undefined ? undefined : unseal(sealed, asked)),
    toWire(result, asked) {
      if ('resultType' in result) return result;
      if (!isInputRequired(result)) return { resultType: 'complete', ...result };
      return questionOf(result, asked);
    },
  };
}
