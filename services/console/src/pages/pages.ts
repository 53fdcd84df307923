/** Every page of the console, in the order of the navigation. A new page is a folder beside this file and an entry here. */
import type { ComponentType } from 'react';
import type { Scope } from '../lib/session.ts';

/** A page. */
export interface Page {
  /** Below /console; `$name` is a parameter. */
  path: string;
  /** In the navigation, opened by the keys `g` and `key`; absent: it is reached from another page. */
  nav?: { name: string; key: string };
  /** Without one of them the page is not in the navigation. */
  scopes?: readonly Scope[];
  /** Loads the page when it is first opened. */
  load(): Promise<{ default: ComponentType }>;
}

/** The pages. */
export const pages: readonly Page[] = [
  { path: '/', nav: { name: 'Overview', key: 'o' }, load: () => import('./overview/overview-page.tsx') },
  {
    path: '/threads',
    nav: { name: 'Threads', key: 't' },
    scopes: ['threads'],
    load: () => import('./threads/threads-page.tsx'),
  },
  { path: '/threads/$threadId', scopes: ['threads'], load: () => import('./thread/thread-page.tsx') },
  {
    path: '/tasks',
    nav: { name: 'Tasks', key: 'k' },
    scopes: ['tasks'],
    load: () => import('./tasks/tasks-page.tsx'),
  },
  {
    path: '/workers',
    nav: { name: 'Workers', key: 'w' },
    scopes: ['fleet'],
    load: () => import('./workers/workers-page.tsx'),
  },
  { path: '/bus', nav: { name: 'Bus', key: 'b' }, scopes: ['bus'], load: () => import('./bus/bus-page.tsx') },
  {
    path: '/tools',
    nav: { name: 'Tools', key: 'l' },
    scopes: ['tools'],
    load: () => import('./tools/tools-page.tsx'),
  },
  {
    path: '/upstreams',
    nav: { name: 'Upstreams', key: 'u' },
    scopes: ['fleet'],
    load: () => import('./upstreams/upstreams-page.tsx'),
  },
  {
    path: '/audit',
    nav: { name: 'Audit', key: 'a' },
    scopes: ['admin', 'fleet'],
    load: () => import('./audit/audit-page.tsx'),
  },
];
