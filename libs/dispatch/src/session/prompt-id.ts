import { runUuidOf } from '@harness/contracts';
import { v5 as uuidOf } from 'uuid';
import type { Turn } from '../lease/lease.ts';

/**
 * The SDK's id for the prompt of this attempt: the run's UUID, or, where the transcript has that one already, one that
 * no attempt before can have used. A message whose id is in the transcript is never answered.
 */
export const promptUuidOf = ({ runId, nonce }: Pick<Turn, 'runId' | 'nonce'>, isSent: boolean): string =>
  isSent ? uuidOf(nonce, runUuidOf(runId)) : runUuidOf(runId);
