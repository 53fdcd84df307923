import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { toAppError } from '@harness/contracts';
import type { FailedAttempts } from '../../limits/failed-attempts.ts';
import type { RateStanding, RequestRate } from '../../limits/request-rate.ts';
import type { AddressOf } from '../client-address.ts';
import type { KeylessConnections } from '../keyless-connections.ts';
import { type Authenticate, type Caller, isLocal } from './authenticate.ts';
import type { PresentedTicket } from './stream-tickets.ts';

/** A request that may be served. */
export interface Admitted {
  caller: Caller;
  /** What remains of the caller's requests; undefined if these are not limited. */
  standing?: RateStanding;
}

/**
 * Authenticates a request by its headers alone and takes it from the caller's budget, once per request: both entrances
 * of the gateway may call it. Throws like Authenticate, and `rate_limited`.
 */
export type Admit = (request: IncomingMessage, options: AdmitOptions) => Promise<Admitted>;

/** What a route accepts besides keys and access tokens. */
export interface AdmitOptions {
  /** Thread tokens. */
  sessions: boolean;
  /** The stream ticket in the request's URL, if the route takes one and there is no Authorization header. */
  ticket?: PresentedTicket | undefined;
  /** The token of a console session, if the route takes one and there is no Authorization header. */
  consoleToken?: string | undefined;
}

/** The admission of one gateway. */
export interface Admission {
  admit: Admit;
  /** The caller of a request that was admitted, or refused for its limits; undefined if that is not known. */
  callerOf(request: IncomingMessage): Caller | undefined;
}

/** What requests are admitted with. */
export interface AdmitDeps {
  authenticate: Authenticate;
  rate: RequestRate;
  failures: FailedAttempts;
  keyless: KeylessConnections;
  addressOf: AddressOf;
}

interface AdmissionState {
  caller?: Caller;
  outcome?: Promise<Admitted>;
}
/** On the request itself: a WeakMap with an entry for each request costs every garbage collection. */
const admissionKey = Symbol('admission');
type AdmittedRequest = IncomingMessage & { [admissionKey]?: AdmissionState };

/** Creates the admission of one gateway. Thread tokens and the local caller have no limit of requests. */
export function createAdmit(deps: AdmitDeps): Admission {
  const { authenticate, rate, failures, keyless, addressOf } = deps;
  /** The last verified credential of each connection, reused until `goodUntil`. */
  const lastCallers = new WeakMap<Socket, { authorization: string | undefined; caller: Caller }>();

  const callerOf = async (request: IncomingMessage, options: AdmitOptions): Promise<Caller> => {
    const { headers, socket } = request;
    const { sessions, ticket, consoleToken } = options;
    const { authorization } = headers;
    // A ticket or console token is for one request: the next one on the connection needs its own credential.
    const isBrowsers = authorization === undefined && (ticket ?? consoleToken) !== undefined;
    const last = isBrowsers ? undefined : lastCallers.get(socket);
    const isKnown = last && last.authorization === authorization && isGood(last.caller);
    if (isKnown && (sessions || !last.caller.session)) return last.caller;
    try {
      const caller = await authenticate(authorization, options);
      keyless.isAuthenticated(socket);
      if (!isBrowsers) lastCallers.set(socket, { authorization, caller });
      return caller;
    } catch (error) {
      if (toAppError(error).code === 'unauthorized') failures.count(addressOf(request));
      throw error;
    }
  };
  const admit = async (
    admission: AdmissionState,
    request: IncomingMessage,
    options: AdmitOptions,
  ): Promise<Admitted> => {
    const caller = await callerOf(request, options);
    admission.caller = caller;
    if (caller.session || isLocal(caller)) return { caller };
    return { caller, standing: await rate.take(caller.principal) };
  };
  return {
    admit(request: AdmittedRequest, options) {
      const known = request[admissionKey]?.outcome;
      if (known) return known;
      const admission: AdmissionState = {};
      request[admissionKey] = admission;
      admission.outcome = admit(admission, request, options);
      return admission.outcome;
    },
    callerOf: (request: AdmittedRequest) => request[admissionKey]?.caller,
  };
}

const isGood = ({ goodUntil = 0 }: Caller) => Date.now() < goodUntil;
