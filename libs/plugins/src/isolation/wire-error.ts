/** Converts errors to JSON and back. An `AppError` keeps its code; other errors stay plain errors. */
import { AppError, type ErrorCode, errorCodes } from '@harness/contracts';

/** An error as JSON. */
export interface WireError {
  message: string;
  /** A code of the error table. */
  code?: string;
  details?: unknown;
  name?: string;
  stack?: string;
}

/** Limits of the parts, so that an error always fits into a message between processes. */
const maxMessageChars = 100_000;
const maxStackChars = 20_000;
const maxNameChars = 200;
const maxDetailsChars = 1024 * 1024;

/** Converts any thrown value to JSON of bounded size. Never throws, even if reading the value does (a proxy, a getter). */
export function wireErrorOf(thrown: unknown): WireError {
  try {
    if (!(thrown instanceof Error)) return { message: String(thrown).slice(0, maxMessageChars) };
    const { message, name, stack } = thrown;
    const { code, details } = thrown as Partial<AppError>;
    return {
      message: String(message).slice(0, maxMessageChars),
      name: String(name).slice(0, maxNameChars),
      ...(stack && { stack: String(stack).slice(0, maxStackChars) }),
      ...(isKnown(code) && { code }),
      ...detailsOf(details),
    };
  } catch {
    return { message: 'The thrown value cannot be read.' };
  }
}

const isKnown = (code: unknown): code is ErrorCode => errorCodes.includes(code as ErrorCode);

/** The details as JSON; nothing if they are not JSON or too large. */
function detailsOf(details: unknown): Pick<WireError, 'details'> {
  try {
    const text = JSON.stringify(details) ?? '';
    return text === '' || text.length > maxDetailsChars ? {} : { details: JSON.parse(text) };
  } catch {
    return {};
  }
}

/** Converts it back: to an `AppError` if the code is known. */
export function errorOf({ message, code, details, name, stack }: WireError): Error {
  const error = isKnown(code) ? new AppError(code, message, { details }) : new Error(message);
  if (!isKnown(code) && name) error.name = name;
  if (stack) error.stack = stack;
  return error;
}
