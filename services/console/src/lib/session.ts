import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, get } from './api.ts';

/** A scope of the REST API. */
export type Scope = 'threads' | 'tools' | 'tasks' | 'bus' | 'admin' | 'fleet' | 'metrics';

/** Who uses the console, and what this person may do. */
export interface Me {
  tenant: string;
  keyId: string;
  scopes: Scope[];
  /** none: the gateway has no keys, so there is no signing in. */
  signIn: 'none' | 'needed';
  expiresAt: string | null;
}

const path = '/v1/console-session';
const queryKey = ['me'];

/** Who uses the console; an error with status 401 before a person has signed in. */
export const useMe = () =>
  useQuery({ queryKey, queryFn: () => get<Me>(path), staleTime: 60_000, retry: false });

/** Whether the person may do what needs this scope. */
export function useCan(): (scope: Scope) => boolean {
  const { data } = useMe();
  return (scope) => data?.scopes.includes(scope) ?? false;
}

/** Signing in with a key or an access token, and signing out. Both throw ApiError. */
export function useSignIn(): { signIn(key: string): Promise<void>; signOut(): Promise<void> } {
  const queries = useQueryClient();
  /** What another person has read must not be shown. */
  const forgetOthers = () =>
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== queryKey[0] });
  return {
    async signIn(key) {
      const me = await api<Me>('POST', path, { headers: { authorization: `Bearer ${key}` } });
      forgetOthers();
      queries.setQueryData(queryKey, me);
    },
    async signOut() {
      await api('DELETE', path);
      forgetOthers();
      await queries.resetQueries({ queryKey });
    },
  };
}
