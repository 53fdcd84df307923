import type { Run } from '@harness/contracts';
import { ApiError, api } from '../../lib/api.ts';

/** What happens if a run is in progress: the message waits, or ends it. */
export type Strategy = 'enqueue' | 'interrupt';

const delaysMs = [300, 600, 1_200, 2_400, 4_800];

/**
 * Sends a message to a thread, exactly once: while the gateway does not answer it is sent again, under the same idempotency
 * key. Throws ApiError.
 */
export async function sendMessage(
  threadId: string,
  input: string,
  multitaskStrategy: Strategy,
): Promise<Run> {
  const headers = { 'idempotency-key': newKey() };
  for (let attempt = 0; ; attempt++) {
    try {
      return await api<Run>('POST', `/v1/threads/${threadId}/runs`, {
        body: { input, multitaskStrategy },
        headers,
      });
    } catch (error) {
      const status = error instanceof ApiError ? error.status : undefined;
      const delayMs = delaysMs[attempt];
      if ((status !== 0 && status !== 502 && status !== 503) || delayMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

/** crypto.randomUUID is missing on pages that were loaded by plain http. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
