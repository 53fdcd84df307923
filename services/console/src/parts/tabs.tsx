import { type KeyboardEvent, type ReactNode, useId } from 'react';

/** Tabs; the arrow keys move between them. */
export function Tabs<Name extends string>(props: {
  label: string;
  tabs: readonly (readonly [name: Name, label: string])[];
  value: Name;
  onChange(name: Name): void;
  children: ReactNode;
}): ReactNode {
  const { label, tabs, value, onChange, children } = props;
  const id = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const at = tabs.findIndex(([name]) => name === value);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next[0]);
    document.getElementById(`${id}${next[0]}`)?.focus();
  };
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(([name, text]) => (
          <button
            key={name}
            id={`${id}${name}`}
            type="button"
            role="tab"
            aria-selected={name === value}
            aria-controls={`${id}panel`}
            tabIndex={name === value ? 0 : -1}
            onClick={() => onChange(name)}
          >
            {text}
          </button>
        ))}
      </div>
      <div id={`${id}panel`} role="tabpanel" aria-labelledby={`${id}${value}`} className="page">
        {children}
      </div>
    </>
  );
}
