/** The types of events, without the code that the browser does not need. */
import type { ThreadEvent } from '@harness/contracts';

export type { ThreadEvent };

const ends: ReadonlySet<string> = new Set([
  'run.completed',
  'run.failed',
  'run.timeout',
  'run.interrupted',
  'run.cancelled',
]);

/** Whether an event of this type ends a run. */
export const isFinalRunEvent = (type: string): boolean => ends.has(type);
