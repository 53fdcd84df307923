import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { ApiError, api } from '../../lib/api.ts';
import { durationOf } from '../../lib/format.ts';
import { Failure } from '../../parts/failure.tsx';
import { JsonText } from '../../parts/json-text.tsx';
import { SidePanel } from '../../parts/side-panel.tsx';
import { State } from '../../parts/state.tsx';
import { argumentsOf, type Field, fieldsOf, type Schema } from './schema-form.ts';
import type { Tool } from './use-tools.ts';

interface Answer {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  isError: boolean;
}

type Outcome = { answer: Answer; ms: number } | { error: unknown };

/** One tool: what it says of itself, and a form to try it. */
export function ToolPanel({ tool, onClose }: { tool: Tool; onClose(): void }): ReactNode {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return (
    <SidePanel label="The chosen tool" title={name} onClose={onClose}>
      {title && <p>{title}</p>}
      <p className="description">{description}</p>
      <TryForm tool={tool} />
      <details>
        <summary>Schema of its arguments</summary>
        <JsonText value={inputSchema} label="Schema of its arguments" />
      </details>
      {outputSchema && (
        <details>
          <summary>Schema of its result</summary>
          <JsonText value={outputSchema} label="Schema of its result" />
        </details>
      )}
      {annotations && (
        <details>
          <summary>Annotations</summary>
          <JsonText value={annotations} label="Annotations" />
        </details>
      )}
    </SidePanel>
  );
}

function TryForm({ tool: { name, inputSchema } }: { tool: Tool }): ReactNode {
  const schema = inputSchema as Schema;
  const fields = fieldsOf(schema);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [threadId, setThreadId] = useState('');
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setBusy] = useState(false);
  const call = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const begunAt = performance.now();
    try {
      const body = {
        arguments: argumentsOf(schema, texts),
        ...(threadId.trim() && { threadId: threadId.trim() }),
      };
      const answer = await api<Answer>('POST', `/v1/tools/${name}`, { body });
      setOutcome({ answer, ms: performance.now() - begunAt });
    } catch (error) {
      setOutcome({ error });
    }
    setBusy(false);
  };
  return (
    <form className="try" onSubmit={(event) => void call(event)}>
      <h3>Try it</h3>
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          text={texts[field.name] ?? field.initial}
          onChange={(text) => setTexts((before) => ({ ...before, [field.name]: text }))}
        />
      ))}
      <label className="field">
        <span>On a thread</span>
        <input
          value={threadId}
          onChange={(event) => setThreadId(event.target.value)}
          placeholder="Your own default thread"
        />
      </label>
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy}>
          Call
        </button>
        {outcome && 'answer' in outcome && (
          <>
            <State
              is={outcome.answer.isError ? 'error' : 'ok'}
              label={outcome.answer.isError ? 'The tool failed' : 'It ran'}
            />
            <span className="muted">{durationOf(outcome.ms)}</span>
          </>
        )}
      </div>
      {outcome &&
        ('answer' in outcome ? <Result answer={outcome.answer} /> : <Refusal error={outcome.error} />)}
    </form>
  );
}

function Result({ answer: { content, structuredContent } }: { answer: Answer }): ReactNode {
  const text = content.map((block) => block.text ?? JSON.stringify(block, null, 2)).join('\n');
  return (
    <>
      <JsonText value={text} label="Result" />
      {structuredContent !== undefined && (
        <>
          <h3>Structured</h3>
          <JsonText value={structuredContent} label="Structured result" />
        </>
      )}
    </>
  );
}

const Refusal = ({ error }: { error: unknown }) => (
  <>
    <Failure error={error} />
    {error instanceof ApiError && error.details !== undefined && (
      <JsonText value={error.details} label="Details" />
    )}
  </>
);

interface FieldProps {
  field: Field;
  text: string;
  onChange(text: string): void;
}

function FieldInput({ field, text, onChange }: FieldProps): ReactNode {
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
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  if (kind === 'number') return <input {...common} type="number" step="any" required={isRequired} />;
  if (kind === 'json')
    return <textarea {...common} rows={3} className="mono" placeholder="JSON" required={isRequired} />;
  return <textarea {...common} rows={Math.min(6, text.split('\n').length)} />;
}
