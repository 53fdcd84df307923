/** What a key or an access token may do; the same words in HARNESS_API_KEYS_FILE and in an access token's `scope`. */
export const scopes = ['threads', 'tools', 'tasks', 'bus', 'admin'] as const;
export type Scope = (typeof scopes)[number];

export const tenantPattern = /^[A-Za-z0-9._-]{1,64}$/;
