/** What a thrown value says, in one line where it can. Never throws: plugins may throw anything. */
export function textOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name;
    return String(thrown);
  } catch {
    return 'a failure that cannot be shown';
  }
}
