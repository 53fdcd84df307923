/** How long, or how much. */
export interface SoakOptions {
  minutes: number | undefined;
  /** Messages, requests or rounds, as the soak counts. */
  runs: number | undefined;
}
