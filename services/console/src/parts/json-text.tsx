import type { ReactNode } from 'react';
import { prettyOf } from '../lib/format.ts';

const most = 20_000;

/** A value, or a text that may be JSON, made readable. Always text: never markup. */
export function JsonText({ value, label }: { value: unknown; label: string }): ReactNode {
  const text = prettyOf(value);
  return (
    <section className="json" aria-label={label} tabIndex={0}>
      <pre>
        <code>
          {text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} more characters` : text}
        </code>
      </pre>
    </section>
  );
}
