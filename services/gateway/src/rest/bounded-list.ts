/** Largest list in a response, bytes of JSON. */
const maxListBytes = 1_000_000;

/**
 * The beginning of a list that fits into a response; at least one item. `truncated`: the page has more, which follow at
 * the next offset.
 */
export function boundedList<Item>(items: readonly Item[]): { kept: Item[]; truncated?: true } {
  let bytes = 0;
  const end = items.findIndex((item, at) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return at > 0 && bytes > maxListBytes;
  });
  return end === -1 ? { kept: [...items] } : { kept: items.slice(0, end), truncated: true };
}
