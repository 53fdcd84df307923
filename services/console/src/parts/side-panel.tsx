import type { ReactNode } from 'react';

/** The chosen item of a list, beside the list. */
export function SidePanel(props: {
  /** For people who cannot see it. */
  label: string;
  /** Name of the item. */
  title: string;
  /** Buttons that act on the item. */
  actions?: ReactNode;
  onClose(): void;
  children: ReactNode;
}): ReactNode {
  const { label, title, actions, onClose, children } = props;
  return (
    <aside className="side-panel" aria-label={label}>
      <div className="row">
        <h2 className="mono grow cut">{title}</h2>
        {actions}
        <button type="button" className="quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </div>
      {children}
    </aside>
  );
}
