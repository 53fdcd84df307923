import { setTimeout as after } from 'node:timers/promises';

const pollMs = 25;

/** Resolves with the first truthy result. After `limitMs` throws an error that names `what` was awaited. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  limitMs = 20_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > end) throw new Error(`Not within ${limitMs} ms: ${what}.`);
    await after(pollMs);
  }
}
