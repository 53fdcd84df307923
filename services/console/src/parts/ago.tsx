import type { ReactNode } from 'react';
import { agoOf, dayOf } from '../lib/format.ts';
import { useNow } from '../lib/use-now.ts';

/** How long ago something was; the exact time is its title. */
export function Ago({ at }: { at: string }): ReactNode {
  return (
    <time dateTime={at} title={dayOf(at)}>
      {agoOf(at, useNow())}
    </time>
  );
}
