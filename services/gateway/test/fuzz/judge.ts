import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createParser } from 'eventsource-parser';
import type { FuzzRequest, Operation } from './requests.ts';

/** A response of the gateway. */
export interface Answer {
  status: number;
  type: string;
  text: string;
  /** The response was still being sent when the client disconnected. */
  isCut: boolean;
}

/** Creates a function that throws for a response that is not documented. */
export function createJudge(
  spec: object,
  operations: Operation[],
): (request: FuzzRequest, answer: Answer) => void {
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema(spec, 'openapi');
  const pointer = (...parts: string[]) =>
    parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  const check = (ref: string, value: unknown) => {
    const validate = validators.get(ref) ?? ajv.compile({ $ref: `openapi#/${ref}` });
    validators.set(ref, validate);
    if (!validate(value))
      throw new Error(`${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)?.slice(0, 500)}`);
  };
  return ({ operationId }: FuzzRequest, { status, type, text, isCut }: Answer) => {
    const operation = byId.get(operationId) as Operation;
    if (status >= 500 && status !== 503) throw new Error(`${status}: ${text.slice(0, 500)}`);
    const documented = operation.responses[status];
    if (!documented) throw new Error(`${operationId} does not document ${status}: ${text.slice(0, 500)}`);
    const { content } = documented;
    if (!content) {
      if (text !== '') throw new Error(`${status} is documented without a body: ${text.slice(0, 200)}`);
      return;
    }
    const [essence = ''] = type.split(';');
    if (!(essence in content)) throw new Error(`${status} is not documented as ${type}`);
    const ref = pointer(
      'paths',
      operation.path,
      operation.method.toLowerCase(),
      'responses',
      String(status),
      'content',
      essence,
      'schema',
    );
    if (essence === 'application/json') check(ref, JSON.parse(text));
    if (essence !== 'text/event-stream') return;
    const parser = createParser({ onEvent: ({ data }) => check(ref, JSON.parse(data)) });
    // An aborted stream may end within an event.
    parser.feed(isCut ? text.slice(0, text.lastIndexOf('\n\n') + 2) : text);
  };
}
