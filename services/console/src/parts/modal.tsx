import { type ReactNode, useEffect, useRef } from 'react';

/** A dialog over the page; Escape closes it. */
export function Modal({
  label,
  onClose,
  children,
}: {
  label: string;
  onClose(): void;
  children: ReactNode;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-label={label} onClose={onClose}>
      <div className="body">{children}</div>
    </dialog>
  );
}
