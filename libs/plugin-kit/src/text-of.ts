/** The message of a thrown value. Never throws itself, although plugins may throw anything. */
export function textOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name;
    return String(thrown);
  } catch {
    return 'an error that cannot be converted to text';
  }
}
