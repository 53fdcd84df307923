/** Whether a value has more than `limit` levels of objects and arrays; stops looking at that depth. */
export const isDeeperThan = (limit: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (limit === 0 || Object.values(value).some((child) => isDeeperThan(limit - 1, child)));
