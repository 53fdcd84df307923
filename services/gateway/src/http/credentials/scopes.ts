/** The rights of a credential, as HARNESS_API_KEYS_FILE and an access token's `scope` name them. */
export const scopes = ['threads', 'tools', 'tasks', 'bus', 'admin', 'fleet', 'metrics'] as const;
/** One of the scopes. */
export type Scope = (typeof scopes)[number];

/** What the session of a thread may do, unless its run was narrowed. */
export const sessionScopes: readonly Scope[] = ['tools', 'tasks', 'threads'];

/** The names that a tenant may have. */
export const tenantPattern = /^[A-Za-z0-9._-]{1,64}$/;
