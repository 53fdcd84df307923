/** Where programs are; the benchmarks use nothing else of this shell. */
export const searchPath = process.env.PATH ?? '';
