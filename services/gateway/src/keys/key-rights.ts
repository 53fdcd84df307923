import { AppError } from '@harness/contracts';
import type { Caller } from '../http/credentials/authenticate.ts';
import type { Scope } from '../http/credentials/scopes.ts';

/** The rights that a new key is to have. */
export interface WantedRights {
  tenant?: string | undefined;
  scopes: readonly Scope[];
  tools?: readonly string[] | undefined;
  notBefore?: string | undefined;
  notAfter?: string | undefined;
}

/** The rights that a new key gets. */
export interface GrantedRights {
  tenant: string;
  scopes: Scope[];
  tools?: string[];
  notBefore?: string;
  notAfter?: string;
}

/**
 * The rights of a key that the caller makes: the wanted ones. Tools and end default to those of the caller. Throws
 * `forbidden` for rights that the caller does not have, and `invalid_request` for a key that is never valid.
 */
export function rightsFrom({ principal, tools, endsAt }: Caller, wanted: WantedRights): GrantedRights {
  const { tenant, scopes } = principal;
  if (wanted.tenant !== undefined && wanted.tenant !== tenant)
    throw forbidden(
      `The key would belong to the tenant "${wanted.tenant}", and yours belongs to "${tenant}".`,
    );
  const foreign = wanted.scopes.find((scope) => !scopes.includes(scope));
  if (foreign) throw forbidden(`Your own key or token lacks the scope "${foreign}".`, { scope: foreign });
  const notGiven = tools && wanted.tools?.find((name) => !tools.some((own) => covers(own, name)));
  if (notGiven !== undefined)
    throw forbidden(`Your own key or token lacks the tool "${notGiven}".`, { tool: notGiven });
  const given = wanted.tools ?? tools;
  const own = endsAt === undefined ? undefined : new Date(endsAt).toISOString();
  const notAfter = wanted.notAfter ?? own;
  if (own !== undefined && notAfter !== undefined && Date.parse(notAfter) > Date.parse(own))
    throw forbidden(`The key would outlive your own key or token, which ends at ${own}.`, { notAfter: own });
  const { notBefore } = wanted;
  const begins = Math.max(Date.now(), notBefore === undefined ? 0 : Date.parse(notBefore));
  if (notAfter !== undefined && Date.parse(notAfter) <= begins)
    throw new AppError(
      'invalid_request',
      'The key would never be valid: notAfter is past, or before notBefore.',
    );
  return {
    tenant,
    scopes: [...new Set(wanted.scopes)],
    ...(given && { tools: [...given] }),
    ...(notBefore !== undefined && { notBefore }),
    ...(notAfter !== undefined && { notAfter }),
  };
}

/** Whether `own` allows every tool that `name` matches; `x__*` matches all names that begin with `x__`. */
const covers = (own: string, name: string): boolean =>
  own === name || (own.endsWith('*') && name.startsWith(own.slice(0, -1)));

const forbidden = (message: string, details?: object) =>
  new AppError('forbidden', `A key cannot have more rights than its maker. ${message}`, { details });
