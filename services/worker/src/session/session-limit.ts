/** Memory to plan for one agent process, bytes. */
const sessionBytes = 150 * 1024 * 1024;

/** Agent processes that this much memory is enough for. */
export const processesFor = (availableBytes: number): number => Math.floor(availableBytes / sessionBytes);

/** How many sessions this worker may hold: the configured number, and no more than the memory left allows. */
export function sessionLimitOf(configured: number, living: number, availableBytes: number): number {
  return Math.max(1, Math.min(configured, living + processesFor(availableBytes)));
}
