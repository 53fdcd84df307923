import type { ServerResponse } from 'node:http';

/** The pieces of one body. */
type Body = readonly (string | Buffer)[];

/**
 * Sends the responses of one turn of the event loop together, at its end. The first write wakes the reader,
 * which costs more than the write itself; the reader is then awake for the others.
 */
export interface BatchedWrites {
  /**
   * Ends a response whose head, with content-length, is written. A no-op when the client has disconnected.
   */
  post(response: ServerResponse, body: Body): void;
}

/** Creates the batch of one gateway. */
export function createBatchedWrites(): BatchedWrites {
  let posted: [response: ServerResponse, body: Body][] = [];
  const send = () => {
    const leaving = posted;
    posted = [];
    for (const [response, body] of leaving) endWith(response, body);
  };
  return {
    post(response, body) {
      if (posted.push([response, body]) === 1) setImmediate(send);
    },
  };
}

function endWith(response: ServerResponse, body: Body): void {
  if (body.length === 1) return void response.end(body[0]);
  response.cork();
  for (const part of body) response.write(part);
  response.end();
}
