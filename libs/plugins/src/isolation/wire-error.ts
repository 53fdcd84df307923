/** Converts errors to JSON and back. An `AppError` keeps its code; other errors stay plain errors. */
import { AppError, type ErrorCode, errorCodes } from '@harness/contracts';

/** An error as JSON. */
export interface WireError {
  message: string;
  /** A code of the error table, if the receiver knows it. */
  code?: string;
  details?: unknown;
  name?: string;
  stack?: string;
}

/** Converts any thrown value to JSON. */
export function wireErrorOf(thrown: unknown): WireError {
  if (!(thrown instanceof Error)) return { message: String(thrown) };
  const { message, name, stack } = thrown;
  const { code, details } = thrown as Partial<AppError>;
  return {
    message,
    name,
    ...(stack && { stack }),
    ...(typeof code === 'string' && { code }),
    ...(isJson(details) && { details }),
  };
}

/** Converts it back: to an `AppError` if the code is known. */
export function errorOf({ message, code, details, name, stack }: WireError): Error {
  const known = errorCodes.find((one): one is ErrorCode => one === code);
  const error = known ? new AppError(known, message, { details }) : new Error(message);
  if (!known && name) error.name = name;
  if (stack) error.stack = stack;
  return error;
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
