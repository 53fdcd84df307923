const types = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);
const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;
const isUnique = (values: readonly unknown[]) => new Set(values).size === values.length;
const isType = (value: unknown): boolean => types.has(value as string);

/** Keywords that are kept as they are, each with the rule for its value: the validator refuses a whole schema for one bad value. */
const rules = new Map<string, (value: unknown) => boolean>([
  [
    'type',
    (value) =>
      isType(value) || (Array.isArray(value) && value.length > 0 && isUnique(value) && value.every(isType)),
  ],
  ['title', isText],
  ['const', () => true],
  ['default', () => true],
  ['enum', (value) => Array.isArray(value) && value.length > 0],
  ['required', (value) => Array.isArray(value) && isUnique(value) && value.every(isText)],
  ['multipleOf', (value) => isNumber(value) && (value as number) > 0],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((one) => [one, isNumber] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (one) => [one, isCount] as const,
  ),
]);

/** Whether a keyword holds a value and no schema, and may be kept. */
export const isValueKeyword = (keyword: string): boolean => rules.has(keyword);

/** Whether the validator can use the value of such a keyword. */
export const isUsable = (keyword: string, value: unknown): boolean => rules.get(keyword)?.(value) === true;
