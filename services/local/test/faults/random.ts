/** A small seeded generator (mulberry32): the same seed gives the same faults, as far as processes allow. */
export interface Random {
  seed: number;
  /** From 0 to `limit`, exclusive. */
  upTo(limit: number): number;
  between(least: number, most: number): number;
  pick<T>(items: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const upTo = (limit: number) => Math.floor(next() * limit);
  return {
    seed,
    upTo,
    between: (least, most) => least + upTo(most - least + 1),
    pick(items) {
      const item = items[upTo(items.length)];
      if (item === undefined) throw new Error('There is nothing to pick from.');
      return item;
    },
  };
}

/** FAULT_SEED, or a new one. */
export const seedOf = (given = process.env.FAULT_SEED): number =>
  given ? Number(given) : Math.floor(Math.random() * 2 ** 31);
