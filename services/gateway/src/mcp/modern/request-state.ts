import { AppError } from '@harness/contracts';
import { isInputRequired } from '@harness/plugin-kit';
import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../http/authenticate.ts';
import type { MethodResult } from '../methods.ts';
import type { Params } from '../wire/json-rpc.ts';

/** A request: who asks for what. Its state is bound to all three. */
export interface Asked {
  caller: Caller;
  method: string;
  params: Params;
}

/** State of a call in several rounds. It travels through the client, sealed for one caller and one request, for an hour. */
export interface RequestStates {
  /** Throws `invalid_request` for a state that was not issued here, or has expired. */
  open(sealed: unknown, asked: Asked): Promise<unknown>;
  /** A method's result as this era writes it: complete, a question with its sealed state, or a task. */
  toWire(result: MethodResult, asked: Asked): Promise<object>;
}

const stateTtlSeconds = 3_600;

/** `secret` is the same at every gateway. */
export function createRequestStates(secret: string): RequestStates {
  const codec = createRequestStateCodec<{ state: unknown }>({
    key: `harness/request-state/${secret}`.padEnd(32, '.'),
    ttlSeconds: stateTtlSeconds,
    bind: (ctx) => ctx as unknown as string,
  });
  const boundTo = ({ caller: { principal }, method, params }: Asked) => {
    const target = String(params.name ?? params.uri ?? '');
    return [principal.tenant, principal.keyId, method, target].join('\0') as unknown as ServerContext;
  };
  return {
    async open(sealed, asked) {
      if (sealed === undefined) return undefined;
      try {
        return (await codec.verify(String(sealed), boundTo(asked))).state;
      } catch (cause) {
        throw new AppError('invalid_request', 'requestState was not issued here, or has expired.', { cause });
      }
    },
    async toWire(result, asked) {
      if ('resultType' in result) return result;
      if (!isInputRequired(result)) return { resultType: 'complete', ...result };
      const { inputRequests, state } = result;
      if (state === undefined) return { resultType: 'input_required', inputRequests };
      const requestState = await codec.mint({ state }, boundTo(asked));
      return { resultType: 'input_required', inputRequests, requestState };
    },
  };
}
