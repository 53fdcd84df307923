import { AppError } from '@harness/contracts';

/**
 * Creates the check that keeps foreign web pages from calling the gateway: the Host must be loopback or
 * allowed (against DNS rebinding), and an Origin, if the browser sends one, must be allowed or the gateway's
 * own. The check throws `forbidden`, and `invalid_request` for a request without Host.
 */
export function createSiteCheck(allowed: { hosts: readonly string[]; origins: readonly string[] }) {
  const hosts = new Set([
    'localhost',
    '127.0.0.1',
    '[::1]',
    ...allowed.hosts.map((host) => host.toLowerCase()),
  ]);
  const origins = new Set(allowed.origins.map((origin) => origin.toLowerCase()));
  /** The last Host that was allowed: most requests have the same one, and need no parsing. */
  let accepted: string | undefined;
  return (headers: { host?: string | undefined; origin?: string | undefined }): void => {
    if (headers.host === undefined) throw new AppError('invalid_request', 'The header Host is missing.');
    if (headers.host !== accepted && !hosts.has(hostNameOf(headers.host))) {
      throw new AppError('forbidden', 'This Host is not allowed; add its name to HARNESS_ALLOWED_HOSTS.');
    }
    accepted = headers.host;
    const origin = headers.origin?.toLowerCase();
    if (origin !== undefined && !origins.has(origin) && !isOwnOrigin(origin, headers.host)) {
      throw new AppError('forbidden', 'This Origin is not allowed; add it to HARNESS_ALLOWED_ORIGINS.');
    }
  };
}

/** Whether a page of this origin was served by the host and port that it calls. */
export function isOwnOrigin(origin: string, host = ''): boolean {
  const [page, called] = [origin.toLowerCase(), host.toLowerCase()];
  return page === `http://${called}` || page === `https://${called}`;
}

/** The name in a Host header without its port; '' if the header is not a valid host. */
function hostNameOf(host: string): string {
  const match = host.toLowerCase().match(/^(\[[0-9a-f:]+\]|[a-z0-9._-]+)(:\d{1,5})?$/);
  return match?.[1] ?? '';
}
