import { useSyncExternalStore } from 'react';

/** The colours: those of the system, unless the person chose. */
export type Theme = 'system' | 'light' | 'dark';

const key = 'harness.theme';
const listeners = new Set<() => void>();
const themeNow = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? 'system';

/** The theme, and a function that sets it; public/theme.js applies it before the first paint. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, themeNow);
  return [theme, setTheme];
}

function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Storage is not allowed: the choice ends with the page.
  }
  for (const listener of listeners) listener();
}
