import type { ReactNode } from 'react';
import { ApiError, messageOf } from '../lib/api.ts';

/** A failure as the gateway describes it. */
export function Failure({ error }: { error: unknown }): ReactNode {
  const code = error instanceof ApiError ? error.code : undefined;
  return (
    <div className="failure" role="alert">
      {code && <code>{code}</code>} {messageOf(error)}
    </div>
  );
}
