/** Who makes a thread or a task or sends a message, with the rights that its run and agents get from it at most. */
export interface Sender {
  /** The key, or the subject of an access token. */
  keyId: string;
  /** Absent = all. */
  scopes?: readonly string[] | undefined;
  /** Names of tools; `x__*` is a prefix. Absent = all. */
  tools?: readonly string[] | undefined;
  /** When these rights end by themselves, ms since 1970; absent = never. */
  rightsUntil?: number | undefined;
}
