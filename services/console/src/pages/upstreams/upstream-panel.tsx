import type { Upstream } from '@harness/contracts';
import type { ReactNode } from 'react';
import { numberOf } from '../../lib/format.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { JsonText } from '../../parts/json-text.tsx';
import { SidePanel } from '../../parts/side-panel.tsx';
import { Chip } from '../../parts/state.tsx';

/** One upstream: its connection, what it offers, and how that differs from what was accepted. */
export function UpstreamPanel(props: {
  upstream: Upstream;
  onChange(method: 'PATCH' | 'POST', path: string, body?: object): Promise<void>;
  onClose(): void;
}): ReactNode {
  const { upstream, onChange, onClose } = props;
  const { name, enabled, scope, owner, protocolVersion, connections, losses, tools, instructions } = upstream;
  return (
    <SidePanel
      label="The chosen upstream"
      title={name}
      onClose={onClose}
      actions={
        <>
          <ActionButton
            onAct={() => onChange('POST', `${name}/reconnect`)}
            confirm={`Connect to ${name} anew? What it holds for threads is lost.`}
          >
            Reconnect
          </ActionButton>
          <ActionButton
            kind={enabled ? 'danger' : 'primary'}
            onAct={() => onChange('PATCH', name, { enabled: !enabled })}
          >
            {enabled ? 'Turn off' : 'Turn on'}
          </ActionButton>
        </>
      }
    >
      <dl className="facts">
        <dt>Connection</dt>
        <dd>
          {scope === 'thread' ? 'one for each thread' : 'shared'}; {numberOf(connections)} open,{' '}
          {numberOf(losses)} lost
        </dd>
        <dt>Held by</dt>
        <dd>{owner ?? 'every gateway'}</dd>
        {upstream.sandbox != null && (
          <>
            <dt>Sandbox</dt>
            <dd>{upstream.sandbox}</dd>
          </>
        )}
        <dt>Protocol</dt>
        <dd>{protocolVersion ?? '–'}</dd>
        <dt>Tenants</dt>
        <dd>{upstream.tenants?.join(', ') ?? 'all'}</dd>
      </dl>
      {upstream.lastError && <p className="failure">{upstream.lastError}</p>}
      {upstream.problems.map((problem) => (
        <p key={problem} className="tone-warn">
          {problem}
        </p>
      ))}
      {upstream.lock.map((difference) => (
        <Difference key={`${difference.kind} ${difference.name}`} {...difference} />
      ))}
      {instructions && (
        <>
          <h3>Instructions</h3>
          <JsonText value={instructions} label="Instructions" />
        </>
      )}
      <h3>Tools</h3>
      <p className="mono">{tools.join('\n') || 'none'}</p>
    </SidePanel>
  );
}

/** What differs from the tool lock, field by field: accepted, and as it is now. */
const Difference = ({ kind, name, change, fields }: Upstream['lock'][number]): ReactNode => (
  <section className="panel" aria-label={`Difference of ${name}`}>
    <header>
      <h2 className="mono cut">{name}</h2>
      <Chip>{kind}</Chip>
      <Chip tone={change === 'new' ? 'warn' : 'bad'}>{change === 'new' ? 'never accepted' : 'changed'}</Chip>
    </header>
    <div className="body">
      {fields.map(({ field, accepted, now }) => (
        <div key={field}>
          <h3>{field}: accepted, and now</h3>
          <JsonText value={accepted ?? 'absent'} label={`${field}, as it was accepted`} />
          <JsonText value={now ?? 'absent'} label={`${field}, as it is now`} />
        </div>
      ))}
    </div>
  </section>
);
