/** Memory to plan for one agent process, bytes. */
const sessionBytes = 150 * 1024 * 1024;

/** How many agent processes fit into this much memory. */
export const processesFor = (availableBytes: number): number => Math.floor(availableBytes / sessionBytes);

/**
 * How many sessions this worker may hold: the configured number, or fewer if the available memory does not
 * suffice.
 */
export function sessionLimitOf(configured: number, living: number, availableBytes: number): number {
  return Math.max(1, Math.min(configured, living + processesFor(availableBytes)));
}
