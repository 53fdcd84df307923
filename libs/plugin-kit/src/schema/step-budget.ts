/**
 * Bounds what one validation costs, which the size of a schema does not: eighteen levels of two `$ref`s each are a
 * quarter of a million schemas at the leaves. Every schema that is evaluated counts a step, and so does whatever
 * takes long within one; a step is about 50 ns.
 */
import { _, type CodeKeywordDefinition, type ErrorObject, Name } from 'ajv/dist/2020.js';
import { type SchemaObject, subschemasOf } from './schema-walk.ts';

/** 256 KB of JSON, the most that a request may bring, has some 100 000 values. */
const maxSteps = 500_000;
const enumValuesPerStep = 10;
const comparisonsPerStep = 8;
/** Of RE2: states × characters. */
export const matchingPerStep = 50;

const keyword = 'x-harness-steps';
/** Ajv's list of what it has found wrong so far, null while it is nothing. */
const vErrors = new Name('vErrors');
/** Problems of one value that are collected, about: within one schema more may come together. */
const enoughErrors = 100;

/** Ends a validation that has found more problems than anybody reads. */
export class TooManyErrors extends Error {
  readonly found: readonly ErrorObject[];

  constructor(found: readonly ErrorObject[]) {
    super('too many problems');
    this.found = found.slice(0, enoughErrors);
  }
}

export interface StepBudget {
  /** Throws when the validation under way has spent all it may. */
  spend(steps: number): void;
  /** Runs one validation with a budget of its own. */
  within<T>(validate: () => T): T;
  /** For Ajv: what `countSteps` wrote into a schema. */
  keyword: CodeKeywordDefinition;
}

export function createStepBudget(): StepBudget {
  let left = Number.POSITIVE_INFINITY;
  const spend = (steps: number) => {
    left -= steps;
    if (left < 0) throw new Error('it takes too many steps with this schema');
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

/** Writes into every schema what its evaluation costs. Changes the copy it is given. */
export function countSteps(copy: SchemaObject): SchemaObject {
  for (const { schema } of subschemasOf(copy)) {
    if (typeof schema === 'boolean') continue;
    const values = Array.isArray(schema.enum) ? schema.enum.length : 0;
    schema[keyword] = 1 + Math.floor(values / enumValuesPerStep);
  }
  return copy;
}
