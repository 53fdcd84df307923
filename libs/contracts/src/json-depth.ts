/** Whether a value has more than so many levels of objects and arrays; looks no further than that. */
export const isDeeperThan = (limit: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (limit === 0 || Object.values(value).some((child) => isDeeperThan(limit - 1, child)));
