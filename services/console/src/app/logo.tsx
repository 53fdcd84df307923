import type { ReactNode } from 'react';

/** The sign of harness. */
export const Logo = (): ReactNode => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="#0f766e" />
    <path d="M10 7v18M22 7v18M10 16h12" fill="none" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
  </svg>
);
