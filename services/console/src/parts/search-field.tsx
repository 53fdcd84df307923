import type { ReactNode } from 'react';

/** A field for the text that a list is filtered by; the key `/` leads to it. */
export function SearchField(props: {
  label: string;
  placeholder: string;
  value: string;
  onChange(text: string): void;
}): ReactNode {
  const { label, placeholder, value, onChange } = props;
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
