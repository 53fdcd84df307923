import type { Answer } from '@harness/contracts';

/** A question of a tool to the person. */
export interface AskedQuestion {
  questionId: string;
  message: string;
  /** JSON Schema of the answer: an object of simple fields. */
  schema?: { properties?: Record<string, Field>; required?: string[] } | undefined;
  url?: string | undefined;
}

interface Field {
  type?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
}

/** Asks for the fields of a question one after another. */
export interface Answering {
  /** What to ask now. */
  prompt(): string;
  /** Takes a typed line. Returns the answer after the last field, or a text about what is wrong with the line. */
  take(line: string): Answer | { wrong: string } | undefined;
}

/** How a person declines. */
export const declineLine = '/decline';

/** Begins to answer a question. An optional field is left out by an empty line. */
export function createAnswering({ schema = {}, url }: AskedQuestion): Answering {
  const fields = Object.entries(url === undefined ? (schema.properties ?? {}) : {});
  const content: Record<string, unknown> = {};
  let at = 0;
  const done = (): Answer => (fields.length === 0 ? { action: 'accept' } : { action: 'accept', content });
  return {
    prompt() {
      const [name, field] = fields[at] ?? [];
      if (name === undefined || field === undefined)
        return url === undefined ? 'Enter to agree' : `Open ${url}, then Enter`;
      const choices = field.enum ?? (field.type === 'boolean' ? ['yes', 'no'] : undefined);
      const hint = choices ? ` (${choices.join(', ')})` : field.description ? ` (${field.description})` : '';
      return `${field.title ?? name}${hint}`;
    },
    take(line) {
      const typed = line.trim();
      if (typed === declineLine) return { action: 'decline' };
      const [name, field] = fields[at] ?? [];
      if (name === undefined || field === undefined) return done();
      if (typed === '') {
        if (schema.required?.includes(name)) return { wrong: `${field.title ?? name} is required.` };
      } else {
        const value = typedValueOf(typed, field);
        if (value === undefined) return { wrong: `This must be ${kindOf(field)}.` };
        content[name] = value;
      }
      at++;
      return at === fields.length ? done() : undefined;
    },
  };
}

function typedValueOf(typed: string, { type, enum: choices }: Field): unknown {
  if (choices) return choices.find((choice) => String(choice) === typed);
  switch (type) {
    case 'boolean':
      return /^(y|yes|true)$/i.test(typed) ? true : /^(n|no|false)$/i.test(typed) ? false : undefined;
    case 'integer':
      return /^-?\d+$/.test(typed) ? Number(typed) : undefined;
    case 'number':
      return Number.isFinite(Number(typed)) ? Number(typed) : undefined;
    default:
      return typed;
  }
}

const kindOf = ({ type, enum: choices }: Field): string =>
  choices
    ? `one of ${choices.join(', ')}`
    : type === 'boolean'
      ? 'yes or no'
      : type === 'integer'
        ? 'a whole number'
        : 'a number';
