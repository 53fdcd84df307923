import type { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import type { StepBudget } from './step-budget.ts';

/**
 * Formats of ajv-formats whose check is slow for long texts, with the number of steps to charge for a text's length. The
 * costs are measured: `url` needs 0.6 s for 20 000 characters, and four times that for 40 000. All other formats
 * need less than 30 ms for 250 KB.
 */
const costs = {
  url: (length) => length ** 2 / 33,
  email: (length) => length ** 2 / 500,
  regex: (length) => length * 50,
} as const satisfies Record<string, (length: number) => number>;

/** Replaces these formats by versions that spend steps of the budget. */
export function addBoundedFormats(ajv: Ajv2020, budget: StepBudget): void {
  for (const [name, costOf] of Object.entries(costs)) {
    const format = fullFormats[name as keyof typeof costs];
    const test = format instanceof RegExp ? (text: string) => format.test(text) : (format as Check);
    ajv.addFormat(name, (text: string) => {
      budget.spend(costOf(text.length));
      return test(text);
    });
  }
}

type Check = (text: string) => boolean;
