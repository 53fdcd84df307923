import { type FormEvent, type ReactNode, useState } from 'react';
import { api } from '../../lib/api.ts';
import { Failure } from '../../parts/failure.tsx';
import { FieldInput } from '../../parts/field-input.tsx';
import { argumentsOf, fieldsOf, type Schema } from '../../parts/schema-form.ts';
import type { Question } from './open-questions.ts';

/** A question of a tool to a person, with a form made from its schema. It ends when it is answered, here or elsewhere. */
export function QuestionForm({ threadId, question }: { threadId: string; question: Question }): ReactNode {
  const { questionId, message, url } = question;
  const schema = (question.schema ?? {}) as Schema;
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const answer = async (body: { action: 'accept' | 'decline'; content?: object }) => {
    setBusy(true);
    setFailure(undefined);
    await api('POST', `/v1/threads/${threadId}/questions/${questionId}`, { body }).catch((error) => {
      setFailure(error);
      setBusy(false);
    });
  };
  const accept = (event: FormEvent) => {
    event.preventDefault();
    try {
      void answer({ action: 'accept', ...(url === undefined && { content: argumentsOf(schema, texts) }) });
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <form className="question" aria-label="A tool asks" onSubmit={accept}>
      <h2>A tool asks</h2>
      <p className="words">{message}</p>
      {url !== undefined && <PageToOpen url={url} />}
      {fieldsOf(schema).map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          text={texts[field.name] ?? field.initial}
          onChange={(text) => setTexts((before) => ({ ...before, [field.name]: text }))}
        />
      ))}
      {failure !== undefined && <Failure error={failure} />}
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy}>
          {url === undefined ? 'Answer' : 'I have done it'}
        </button>
        <button type="button" disabled={isBusy} onClick={() => void answer({ action: 'decline' })}>
          Decline
        </button>
      </div>
    </form>
  );
}

/** The whole address is shown: a tool of another author has written it. */
function PageToOpen({ url }: { url: string }): ReactNode {
  if (!/^https?:\/\//i.test(url)) return <p className="mono">{url}</p>;
  return (
    <p>
      Open this page yourself, if you trust it:{' '}
      <a className="mono" href={url} target="_blank" rel="noreferrer noopener">
        {url}
      </a>
    </p>
  );
}
