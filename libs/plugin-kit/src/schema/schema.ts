/**
 * JSON Schema 2020-12 by Ajv. Strict where a mistake would otherwise pass in silence (unknown keywords and formats),
 * lenient where strict mode only dislikes a style. Nothing is coerced, filled in or removed: the handler gets the
 * input as the caller sent it. What a schema may cost is bounded: its size (schema-bounds.ts), a validation's steps
 * (step-budget.ts), its patterns (linear-pattern.ts), and for strangers' schemas the time to compile (prove-schemas.ts).
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

/** Keywords of a referenced schema up to which it is copied to its references; the rest are calls. */
const maxInlinedKeywords = 10;

/** No errors = valid. */
export type SchemaCheck = (value: unknown) => SchemaError[];

export interface SchemaCompiler {
  /** Throws an Error whose message says what is wrong with the schema. */
  compile(schema: JsonSchema): SchemaCheck;
}

/** One per plugin, so that a `$id` of one plugin is unknown to the others and all goes when the plugin goes. */
export function createSchemaCompiler(): SchemaCompiler {
  const budget = createStepBudget();
  let ajv: Ajv2020 | undefined; // made when the first schema is compiled: a process that calls no tool needs none
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
        // Forgets every `$id` seen, so two tools may state the same one; compiled checks need them no more.
        ajv.removeSchema();
      }
    },
  };
}

/** One in the process: the meta-schema takes 80 ms to compile, and no plugin can add to it. */
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
      // Ajv tells patterns apart by it.
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
    // All problems at once; how many are collected is the budget's to bound.
    allErrors: true,
    verbose: true,
    $data: false,
    logger: false,
    validateSchema: false, // schemaOfSchemas() has
    inlineRefs: maxInlinedKeywords,
    code: { regExp: Object.assign(regExp, { code: 'linearPattern' }) },
  });
  addFormats.default(ajv);
  addBoundedFormats(ajv, budget);
  // Ajv resolves `$anchor` but strict mode does not know the word.
  ajv.addKeyword('$anchor');
  // MCP's: the header in which a client repeats an input.
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
    // Out of steps, or a recursive schema and a very deep input overflow the stack: not valid, and not a fault of the process.
    const message = `could not be checked: ${textOf(thrown)}`;
    return [{ instancePath: '', keyword: '$ref', params: {}, schemaPath: '#', message }];
  }
}
