import type { ServerResponse } from 'node:http';

/** In pieces, which are written as one. */
type Body = readonly (string | Buffer)[];

/**
 * Answers that are ready in one turn of the event loop leave together, when it has read all that has come. To write is
 * to wake the reader, which costs more than the write; woken by the first answer it is awake for the others.
 */
export interface Outbox {
  /** Ends a response whose head is written, with its length. One whose client has left is dropped. */
  post(response: ServerResponse, body: Body): void;
}

export function createOutbox(): Outbox {
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
