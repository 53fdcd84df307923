/**
 * Validates JSON Schema 2020-12 with Ajv. Strict about mistakes that would otherwise go unnoticed (unknown keywords and
 * formats), lenient about style. No value is coerced, filled in or removed: the handler gets the input as the caller
 * sent it. The cost of a schema is bounded by the files beside this one.
 *
 * - `schema-bounds.ts`   bounds on the size and shape of a schema
 * - `schema-walk.ts`     walks all subschemas of a document
 * - `step-budget.ts`     bounds the cost of one validation
 * - `linear-pattern.ts`  patterns in linear time, by RE2
 * - `bounded-formats.ts` formats whose check is slow, with their cost
 * - `prove-schemas.ts`   compiles schemas of outside plugins first in a limited process
 * - `prove-process.ts`   the main file of that process
 * - `readable-errors.ts` Ajv's errors as text for models and people
 */
import { createHash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { addBoundedFormats } from './bounded-formats.ts';
import { createLinearPattern } from './linear-pattern.ts';
import { type SchemaError, schemaErrorOf } from './readable-errors.ts';
import { parseBounded } from './schema-bounds.ts';
import {
  countSteps,
  createStepBudget,
  matchingPerStep,
  type StepBudget,
  TooManyErrors,
} from './step-budget.ts';

/** A referenced schema with at most this many keywords is inlined; a larger one becomes a function call. */
const maxInlinedKeywords = 10;

/** Validates a value; no errors = valid. */
export type SchemaCheck = (value: unknown) => SchemaError[];

/** Compiles the schemas of one plugin. Equal schemas are compiled once. */
export interface SchemaCompiler {
  /** Throws an Error whose message describes what is wrong with the schema. */
  compile(schema: JsonSchema): SchemaCheck;
}

/**
 * Creates the compiler of one plugin. Each plugin has its own, so that plugins do not see each other's `$id`s and
 * everything is freed with the plugin.
 */
export function createSchemaCompiler(): SchemaCompiler {
  const budget = createStepBudget();
  let ajv: Ajv2020 | undefined; // created with the first schema, because a process that calls no tool needs none
  const compiled = new Map<string, SchemaCheck>();

  return {
    compile(schema) {
      const copy = parseBounded(schema);
      const hash = createHash('sha256').update(JSON.stringify(copy)).digest('base64');
      const known = compiled.get(hash);
      if (known) return known;
      ajv ??= createAjv(budget);
      try {
        schemaOfSchemas().validateSchema(copy, true);
        const validate = ajv.compile(countSteps(copy));
        const check: SchemaCheck = (value) => errorsOf(validate, value, budget);
        compiled.set(hash, check);
        return check;
      } finally {
        // Forgets all `$id`s, so that two tools may use the same one. Compiled checks no longer need them.
        ajv.removeSchema();
      }
    },
  };
}

/** Shared by the process: the meta-schema takes 80 ms to compile, and no plugin can change it. */
let meta: Ajv2020 | undefined;
const schemaOfSchemas = () => {
  meta ??= addFormats.default(new Ajv2020({ logger: false }));
  return meta;
};

function createAjv(budget: StepBudget): Ajv2020 {
  const regExp = (source: string) => {
    const pattern = createLinearPattern(source);
    return {
      test(text: string) {
        budget.spend(pattern.costOf(text) / matchingPerStep);
        return pattern.test(text);
      },
      // Ajv distinguishes patterns by it.
      toString: () => source,
    };
  };
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    allowUnionTypes: true,
    allowMatchingProperties: true,
    // Reports all problems at once; the budget bounds their number.
    allErrors: true,
    verbose: true,
    $data: false,
    // A property called `toString` is there only if it was given.
    ownProperties: true,
    logger: false,
    validateSchema: false, // schemaOfSchemas() does it
    inlineRefs: maxInlinedKeywords,
    code: { regExp: Object.assign(regExp, { code: 'linearPattern' }) },
  });
  addFormats.default(ajv);
  addBoundedFormats(ajv, budget);
  // Ajv resolves `$anchor`, but strict mode does not know the keyword.
  ajv.addKeyword('$anchor');
  // A keyword of MCP: the header in which a client repeats an input.
  ajv.addKeyword('x-mcp-header');
  ajv.addKeyword(budget.keyword);
  return ajv;
}

function errorsOf(
  validate: ReturnType<Ajv2020['compile']>,
  value: unknown,
  budget: StepBudget,
): SchemaError[] {
  try {
    return budget.within(() => validate(value)) ? [] : (validate.errors ?? []).map(schemaErrorOf);
  } catch (thrown) {
    if (thrown instanceof TooManyErrors) return thrown.found.map(schemaErrorOf);
    // Out of steps, or a stack overflow by a recursive schema and a very deep input. Both make the input invalid.
    const message = `could not be checked: ${textOf(thrown)}`;
    return [{ instancePath: '', keyword: '$ref', params: {}, schemaPath: '#', message }];
  }
}
