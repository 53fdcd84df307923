import type { Progress } from '@modelcontextprotocol/client';

/** A result as its server sent it. */
export type RawResult = Record<string, unknown>;

/** How one request is followed. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
  timeoutMs: number;
  onProgress?: ((progress: Progress) => void) | undefined;
  headers?: Record<string, string> | undefined;
  /** What the caller can do: be asked for input, be given a task. Default: nothing. */
  capabilities?: RawResult | undefined;
  /** The call of an earlier round that this one continues, as its result named it. */
  continues?: string | undefined;
}
