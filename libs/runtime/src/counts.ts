/** Counts by name; a name whose count is 0 takes no memory. */
export interface Counts {
  of(name: string): number;
  add(name: string, change: number): void;
}

/** Creates counts, each 0. */
export function createCounts(): Counts {
  const counts = new Map<string, number>();
  return {
    of: (name) => counts.get(name) ?? 0,
    add(name, change) {
      const count = (counts.get(name) ?? 0) + change;
      if (count > 0) counts.set(name, count);
      else counts.delete(name);
    },
  };
}
