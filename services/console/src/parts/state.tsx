import type { ReactNode } from 'react';

/** A colour with a meaning. */
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'busy';

const tones: Record<string, Tone> = {
  busy: 'busy',
  running: 'busy',
  working: 'busy',
  in_progress: 'busy',
  executing: 'busy',
  assigned: 'busy',
  pending: 'busy',
  warming: 'busy',
  warm: 'good',
  success: 'good',
  completed: 'good',
  done: 'good',
  satisfied: 'good',
  ready: 'good',
  ok: 'good',
  interrupted: 'warn',
  cancelled: 'warn',
  draining: 'warn',
  restarting: 'warn',
  blocked: 'warn',
  needs_revision: 'warn',
  max_iterations_reached: 'warn',
  input_required: 'warn',
  lost: 'warn',
  error: 'bad',
  timeout: 'bad',
  failed: 'bad',
  dead: 'bad',
  degraded: 'bad',
};

/** The tone of a state, status or verdict of any resource. */
export const toneOf = (state: string): Tone => tones[state] ?? 'plain';

/** A state in words, with a dot in its colour; never the colour alone. */
export function State({ is, label, tone }: { is: string; label?: string; tone?: Tone }): ReactNode {
  return (
    <span className={`state tone-${tone ?? toneOf(is)}`}>
      <span className="dot" aria-hidden="true" />
      {label ?? is.replaceAll('_', ' ')}
    </span>
  );
}

/** A short fact. */
export function Chip({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title?: string | undefined;
  children: ReactNode;
}): ReactNode {
  return (
    <span className={`chip tone-${tone}`} title={title}>
      {children}
    </span>
  );
}
