// Runs before the first paint, so that a theme which was chosen does not flash in the other one.
try {
  const theme = localStorage.getItem('harness.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is not allowed: the theme of the system applies.
}
