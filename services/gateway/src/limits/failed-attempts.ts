import { isIPv6 } from 'node:net';
import { AppError } from '@harness/contracts';

/** Refused credentials, by the address that sent them. */
export interface FailedAttempts {
  /**
   * Counts a refused credential. Throws `rate_limited` in place of the refusal when the address has sent too many. Callers
   * with a valid credential are not affected, even behind the same address.
   */
  count(address: string): void;
}

/** Addresses counted at once; beyond that all are counted as one. */
const maxAddresses = 50_000;

/** Creates the counters of one gateway: refused credentials per second and address. `now`: ms. */
export function createFailedAttempts({
  perSecond = 20,
  now = () => Date.now(),
}: {
  perSecond?: number | undefined;
  now?: () => number;
} = {}): FailedAttempts {
  let second = 0;
  const counts = new Map<string, number>();
  return {
    count(address) {
      const current = Math.floor(now() / 1000);
      if (current !== second) {
        second = current;
        counts.clear();
      }
      const network = networkOf(address);
      const counted = counts.size < maxAddresses || counts.has(network) ? network : '';
      const failed = (counts.get(counted) ?? 0) + 1;
      counts.set(counted, failed);
      if (failed > perSecond)
        throw new AppError(
          'rate_limited',
          'Too many requests without a valid credential came from this address. Check the key, then send again later.',
          {
            details: { limit: 'failedAuthentications', perSecond },
            retryAfterMs: (current + 1) * 1000 - now(),
          },
        );
    },
  };
}

/** An IPv6 host has a whole network of addresses (/64), which counts as one. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) while (groups.length < 4) groups.push('0');
  return groups.slice(0, 4).join(':');
}
