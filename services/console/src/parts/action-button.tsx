import { type ReactNode, useState } from 'react';
import { messageOf } from '../lib/api.ts';
import { toast } from './toast.tsx';

/** A button that does something at the gateway: it waits for it, and says what went wrong. */
export function ActionButton(props: {
  children: ReactNode;
  onAct(): Promise<unknown>;
  /** Said when it is done. */
  done?: string;
  /** Asked before. */
  confirm?: string;
  kind?: 'primary' | 'danger' | 'quiet';
  title?: string;
  disabled?: boolean;
}): ReactNode {
  const { children, onAct, done, confirm: question, kind, title, disabled = false } = props;
  const [isActing, setActing] = useState(false);
  const act = async () => {
    if (question !== undefined && !window.confirm(question)) return;
    setActing(true);
    try {
      await onAct();
      if (done) toast(done);
    } catch (error) {
      toast(messageOf(error), 'bad');
    } finally {
      setActing(false);
    }
  };
  return (
    <button
      type="button"
      className={kind ?? ''}
      title={title}
      disabled={disabled || isActing}
      onClick={() => void act()}
    >
      {children}
    </button>
  );
}
