import type { ReactNode } from 'react';
import { Tabs } from '../../parts/tabs.tsx';

/** What the page shows. */
export type View = 'tasks' | 'workers';

const tabs = [
  ['tasks', 'Tasks'],
  ['workers', 'Workers'],
] as const;

/** The tabs of the page. */
export const Views = (props: { value: View; onChange(view: View): void; children: ReactNode }): ReactNode => (
  <Tabs<View> label="Views of the bus" tabs={tabs} {...props} />
);
