/**
 * Batches queries to Redis into single requests: those of one turn of the event loop, and those that arrive while another
 * request is in progress. Under load one query then costs a fraction of a command; alone, it waits for nothing. Equal
 * queries of a batch are sent once, and get the same result object.
 * `keyOf`: equal for equal queries. `most`: largest number of queries in one request; a full batch does not wait for the
 * request in progress. Each query resolves with its own result; all of a batch reject with the error of `send`.
 */
export function batchQueries<Query, Result>(
  send: (queries: Query[]) => Promise<readonly Result[]>,
  { keyOf, most = 100 }: { keyOf: (query: Query) => string | number; most?: number },
): (query: Query) => Promise<Result> {
  interface Waiting {
    query: Query;
    result: Promise<Result>;
    resolve(result: Result): void;
    reject(error: unknown): void;
  }
  let waiting = new Map<string | number, Waiting>();
  let underWay = 0;
  let isScheduled = false;

  const sendAll = async () => {
    const batch = [...waiting.values()];
    waiting = new Map();
    underWay++;
    try {
      const results = await send(batch.map(({ query }) => query));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      underWay--;
      schedule();
    }
  };
  const schedule = () => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (waiting.size > 0 && underWay === 0) void sendAll();
    });
  };

  return (query) => {
    const key = keyOf(query);
    const known = waiting.get(key);
    if (known) return known.result;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.set(key, { query, result: promise, resolve, reject });
    if (waiting.size >= most) void sendAll();
    else if (underWay === 0) schedule();
    return promise;
  };
}
