import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, api } from '../../lib/api.ts';
import { durationOf } from '../../lib/format.ts';
import { Failure } from '../../parts/failure.tsx';
import { FieldInput } from '../../parts/field-input.tsx';
import { JsonText } from '../../parts/json-text.tsx';
import { argumentsOf, fieldsOf, type Schema } from '../../parts/schema-form.ts';
import { SidePanel } from '../../parts/side-panel.tsx';
import { State } from '../../parts/state.tsx';
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
