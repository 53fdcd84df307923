import { type ReactNode, useId } from 'react';
import type { Field } from './schema-form.ts';

interface FieldProps {
  field: Field;
  text: string;
  onChange(text: string): void;
}

/** One field of a form that was made from a schema. */
export function FieldInput({ field, text, onChange }: FieldProps): ReactNode {
  const id = useId();
  const { name, kind, isRequired, description } = field;
  const label = (
    <span>
      <span className="mono">{name}</span> {isRequired && <span className="muted">required</span>}
    </span>
  );
  if (kind === 'boolean')
    return (
      <label className="row">
        <input
          type="checkbox"
          checked={text === 'true'}
          onChange={(event) => onChange(String(event.target.checked))}
        />
        {label} <small className="muted">{description}</small>
      </label>
    );
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Control id={id} field={field} text={text} onChange={onChange} />
      {description && <small>{description}</small>}
    </div>
  );
}

function Control({ id, field, text, onChange }: FieldProps & { id: string }): ReactNode {
  const { kind, isRequired, choices } = field;
  const common = {
    id,
    value: text,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  if (kind === 'choice')
    return (
      <select {...common} required={isRequired}>
        <option value="">–</option>
        {choices.map(({ text, label }) => (
          <option key={text} value={text}>
            {label}
          </option>
        ))}
      </select>
    );
  if (kind === 'number') return <input {...common} type="number" step="any" required={isRequired} />;
  if (kind === 'json')
    return <textarea {...common} rows={3} className="mono" placeholder="JSON" required={isRequired} />;
  return <textarea {...common} rows={Math.min(6, text.split('\n').length)} />;
}
