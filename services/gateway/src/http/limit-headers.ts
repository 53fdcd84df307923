import type { AppError } from '@harness/contracts';
import type { RateStanding } from '../limits/request-rate.ts';

const header = 'ratelimit';

/** The `RateLimit` headers (IETF draft-ietf-httpapi-ratelimit-headers) of a request within its limits. */
export const rateHeaders = ({ burst, window, remaining }: RateStanding): Record<string, string> => ({
  [`${header}-policy`]: `"requests";q=${burst};w=${window}`,
  [header]: `"requests";r=${Math.min(burst, remaining)};t=${Math.ceil(((burst - Math.min(burst, remaining)) * window) / burst)}`,
});

/** The headers of a refusal that may be repeated later: `Retry-After`, and `RateLimit` if requests are limited. */
export function retryHeaders({ retry, retryAfterMs, details }: AppError): Record<string, string> {
  if (!retry) return {};
  const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1000));
  const { burst, window } = (details ?? {}) as Partial<RateStanding>;
  return {
    'retry-after': String(seconds),
    ...(burst !== undefined &&
      window !== undefined && {
        ...rateHeaders({ burst, window, remaining: 0 }),
        [header]: `"requests";r=0;t=${seconds}`,
      }),
  };
}
