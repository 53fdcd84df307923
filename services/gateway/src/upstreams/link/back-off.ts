/** First and longest wait between two attempts, ms. */
const firstMs = 500;
const longestMs = 60_000;

/** The wait before attempt `failures` + 1, ms: doubles, with jitter, so that the gateways of a fleet do not try together. */
export const backOffMs = (failures: number, random: () => number = Math.random): number =>
  Math.round(Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 20)) * (0.5 + random() / 2));
