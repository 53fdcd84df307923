/** Every page of the console, in the order of the navigation. A new page is a folder beside this file and an entry here. */
import type { ComponentType } from 'react';
import type { Scope } from '../lib/session.ts';

/** A page. */
export interface Page {
  /** Below /console; `$name` is a parameter. */
  path: string;
  /** In the navigation; absent: it is reached from another page. */
  nav?: { name: string; key: string };
  /** Without it the page is not shown. */
  scope?: Scope;
  /** Loads the page when it is first opened. */
  load(): Promise<{ default: ComponentType }>;
}

export const pages: readonly Page[] = [
  {
    path: '/threads',
    nav: { name: 'Threads', key: 't' },
    scope: 'threads',
    load: () => import('./threads/threads-page.tsx'),
  },
  { path: '/threads/$threadId', scope: 'threads', load: () => import('./thread/thread-page.tsx') },
];
