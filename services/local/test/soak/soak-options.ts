/** Length of a soak: minutes, or a number of runs. */
export interface SoakOptions {
  minutes: number | undefined;
  /** Messages, requests or rounds, as the soak counts. */
  runs: number | undefined;
}
