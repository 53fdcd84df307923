import type { ToolLockState } from '@harness/contracts';
import type { ReactNode } from 'react';
import { JsonText } from '../../parts/json-text.tsx';
import { Chip } from '../../parts/state.tsx';

type Difference = ToolLockState['differences'][number];

const words = {
  changed: ['Changed since it was accepted', 'bad'],
  new: ['Never accepted', 'warn'],
  missing: ['Accepted, but no longer offered', 'plain'],
} as const;

/** What differs from the tool lock: accepted and offered, side by side. */
export function LockList({ lock }: { lock: ToolLockState | undefined }): ReactNode {
  if (!lock) return <p className="empty">The tool lock is shown to keys with the scope admin.</p>;
  if (lock.mode === 'off')
    return (
      <p className="empty">
        <strong>There is no tool lock</strong>With HARNESS_TOOL_LOCK_FILE the gateway reports, or withholds,
        what changed since a person accepted it.
      </p>
    );
  return (
    <section className="page scrolls" aria-label="Differences from the tool lock" tabIndex={0}>
      <div className="content">
        <p className="muted">
          {lock.mode === 'enforce'
            ? 'What differs is withheld.'
            : 'What differs is reported, and offered all the same.'}{' '}
          To accept it: npm run tools:lock
        </p>
        {lock.differences.length === 0 && <p>Everything is as it was accepted.</p>}
        {lock.differences.map((difference) => (
          <OneDifference key={`${difference.kind} ${difference.name}`} {...difference} />
        ))}
      </div>
    </section>
  );
}

function OneDifference({ kind, name, plugin, difference, accepted, offered }: Difference): ReactNode {
  const [text, tone] = words[difference];
  return (
    <article className="panel">
      <header>
        <h2 className="mono">{name}</h2>
        <Chip>{kind}</Chip>
        <Chip tone={tone}>{text}</Chip>
        {plugin && <span className="muted">of {plugin}</span>}
      </header>
      <div className="body sides">
        <Side title="Accepted" sha256={accepted?.sha256} version={accepted?.version} />
        <Side title="Offered" sha256={offered?.sha256} version={offered?.version}>
          {offered && <JsonText value={offered.seen} label={`What ${name} says of itself`} />}
        </Side>
      </div>
    </article>
  );
}

function Side(props: {
  title: string;
  version: string | undefined;
  sha256: string | undefined;
  children?: ReactNode;
}): ReactNode {
  const { title, version, sha256, children } = props;
  return (
    <div className="side-of">
      <h3 className="muted">{title}</h3>
      {sha256 ? (
        <p>
          version {version ?? 'unknown'}, <code title={sha256}>{sha256.slice(0, 16)}…</code>
        </p>
      ) : (
        <p className="muted">not at all</p>
      )}
      {children}
    </div>
  );
}
