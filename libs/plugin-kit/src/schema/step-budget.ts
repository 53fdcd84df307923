/**
 * Bounds the cost of one validation. The size of the schema does not: eighteen levels of two `$ref`s each have a quarter
 * of a million schemas at the leaves. Each evaluation of a schema costs one step, and slow work within it costs more. A
 * step is about 50 ns.
 */
import { _, type CodeKeywordDefinition, type ErrorObject, Name } from 'ajv/dist/2020.js';
import { type SchemaObject, subschemasOf } from './schema-walk.ts';

/** The largest request, 256 KB of JSON, has about 100 000 values. */
const maxSteps = 500_000;
const enumValuesPerStep = 10;
const comparisonsPerStep = 8;
/** States × characters of RE2 that cost one step. */
export const matchingPerStep = 50;

const keyword = 'x-harness-steps';
/** Ajv's variable with the errors found so far; null = none. */
const vErrors = new Name('vErrors');
/** Approximate maximum of errors that are collected; a single schema may exceed it. */
const enoughErrors = 100;

/** Ends a validation that has found enough errors; `found` has the first of them. */
export class TooManyErrors extends Error {
  readonly found: readonly ErrorObject[];

  constructor(found: readonly ErrorObject[]) {
    super('too many problems');
    this.found = found.slice(0, enoughErrors);
  }
}

/** Counts the steps of the current validation. */
export interface StepBudget {
  /** Throws when the current validation exceeds its budget. */
  spend(steps: number): void;
  /** Runs one validation with a new budget. */
  within<T>(validate: () => T): T;
  /** The Ajv keyword that spends what `countSteps` wrote into a schema. */
  keyword: CodeKeywordDefinition;
}

/** Creates the budget of one compiler. Validations are synchronous, so one counter is enough. */
export function createStepBudget(): StepBudget {
  let left = Number.POSITIVE_INFINITY;
  const spend = (steps: number) => {
    left -= steps;
    if (left < 0)
      throw new Error('the validation takes too many steps with this schema; send a smaller value');
  };
  return {
    spend,
    within(validate) {
      left = maxSteps;
      try {
        return validate();
      } finally {
        left = Number.POSITIVE_INFINITY;
      }
    },
    keyword: {
      keyword,
      schemaType: 'number',
      code({ gen, data, schema, parentSchema }) {
        const spending = gen.scopeValue('func', { ref: spend });
        const checking = gen.scopeValue('func', { ref: checkErrors });
        gen.code(_`${spending}(${schema})`);
        gen.code(_`if (${vErrors} !== null) ${checking}(${vErrors})`);
        if (parentSchema.uniqueItems === true) {
          gen.code(
            _`if (Array.isArray(${data})) ${spending}(${data}.length ** 2 / ${2 * comparisonsPerStep})`,
          );
        }
      },
    },
  };
}

function checkErrors(found: readonly ErrorObject[]): void {
  if (found.length >= enoughErrors) throw new TooManyErrors(found);
}

/** Writes the cost of an evaluation into every subschema. Modifies and returns its argument. */
export function countSteps(copy: SchemaObject): SchemaObject {
  for (const { schema } of subschemasOf(copy)) {
    if (typeof schema === 'boolean') continue;
    const values = Array.isArray(schema.enum) ? schema.enum.length : 0;
    schema[keyword] = 1 + Math.floor(values / enumValuesPerStep);
  }
  return copy;
}
