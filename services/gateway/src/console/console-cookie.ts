/**
 * The cookie of a console session: how it is set, and when it is accepted. A browser also sends it with requests that other
 * pages make, so it is accepted only if the browser states that the console's own origin made the request. Its path is /v1:
 * browsers do not send it to /mcp, which would not read it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isOwnOrigin } from '../http/same-site.ts';

const name = 'harness_console';
const path = '/v1';

/** The session token of a request; undefined without one, and if another origin may have made the request. */
export function consoleTokenOf(headers: IncomingHttpHeaders): string | undefined {
  const token = headers.cookie
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
  if (!token) return undefined;
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isOurs = origin === undefined ? site === 'same-origin' : isOwnOrigin(origin, host);
  return isOurs ? token : undefined;
}

/** The Set-Cookie header that gives a browser its session; `secure`: the page was loaded by https. */
export function consoleCookieOf(session: { token: string; expiresAt: number }, secure: boolean): string {
  const maxAge = Math.max(0, Math.floor((session.expiresAt - Date.now()) / 1000));
  return cookie(session.token, { maxAge, secure });
}

/** The Set-Cookie header that removes the cookie. */
export const noConsoleCookie = (secure: boolean): string => cookie('', { maxAge: 0, secure });

const cookie = (value: string, { maxAge, secure }: { maxAge: number; secure: boolean }) =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;

/** Whether the page that sends a request was loaded by https: a browser names its origin in every POST and DELETE. */
export const isFromHttps = ({ origin }: IncomingHttpHeaders): boolean =>
  origin?.toLowerCase().startsWith('https:') === true;
