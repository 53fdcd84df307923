import type { ReactNode } from 'react';

/** One choice of a few, side by side. */
export function Segments<Value extends string>(props: {
  label: string;
  options: readonly (readonly [value: Value, label: string])[];
  value: Value;
  onChange(value: Value): void;
}): ReactNode {
  const { label, options, value, onChange } = props;
  return (
    <fieldset className="segments" aria-label={label}>
      {options.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}
