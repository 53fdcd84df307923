/** A failure as it crosses between processes: its code stays a code, and what is no code stays an error. */
import { AppError, type ErrorCode, errorCodes } from '@harness/contracts';

export interface WireError {
  message: string;
  /** Of the error table. */
  code?: string;
  details?: unknown;
  name?: string;
  stack?: string;
}

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
