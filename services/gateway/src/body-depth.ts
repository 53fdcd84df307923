import { AppError, isDeeperThan } from '@harness/contracts';

/** Levels of a request's JSON: code that walks through values calls itself for each. */
const maxBodyDepth = 100;

/** Throws `invalid_request`. */
export function checkDepth(body: unknown): void {
  if (isDeeperThan(maxBodyDepth, body))
    throw new AppError('invalid_request', `The body is nested deeper than ${maxBodyDepth} levels.`);
}
