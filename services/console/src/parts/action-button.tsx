import { type ReactNode, useState } from 'react';
import { messageOf } from '../lib/api.ts';
import { toast } from './toast.tsx';

/** A button that sends a request to the gateway: it waits for the response, and shows an error. */
export function ActionButton(props: {
  children: ReactNode;
  onAct(): Promise<unknown>;
  /** Shown when it is done. */
  done?: string;
  /** The question that the person must confirm first. */
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
