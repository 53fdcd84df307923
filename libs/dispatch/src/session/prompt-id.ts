import { runUuidOf } from '@harness/contracts';
import { v5 as uuidOf } from 'uuid';
import type { Turn } from '../lease/turn.ts';

/**
 * The SDK's message id for the prompt of this attempt. The model never answers a message whose id the
 * transcript already has: `isSent` (it has the run's UUID) therefore yields an id that no earlier attempt
 * used.
 */
export const promptUuidOf = ({ runId, nonce }: Pick<Turn, 'runId' | 'nonce'>, isSent: boolean): string =>
  isSent ? uuidOf(nonce, runUuidOf(runId)) : runUuidOf(runId);
