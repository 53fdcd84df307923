/** The PATH of the benchmark's processes; they inherit nothing else of the environment. */
export const searchPath = process.env.PATH ?? '';
