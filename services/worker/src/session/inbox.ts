/** Creates the async iterable from which the Agent SDK reads prompts. */
export function createInbox<Item>() {
  const items: Item[] = [];
  let ended = false;
  let wake: (() => void) | undefined;
  return {
    push(item: Item) {
      items.push(item);
      wake?.();
    },
    end() {
      ended = true;
      wake?.();
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
      for (;;) {
        const item = items.shift();
        if (item !== undefined) yield item;
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
