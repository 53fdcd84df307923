import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, memo, type ReactNode, useMemo, useRef, useState } from 'react';
import { api, messageOf } from '../../lib/api.ts';
import { useShortcuts } from '../../lib/shortcuts.ts';
import { toast } from '../../parts/toast.tsx';
import { type Strategy, sendMessage } from './send-message.ts';
import { type Completion, useCompletion } from './use-completion.ts';

interface CommandResult {
  output: string;
  isError: boolean;
  action?: 'quit' | 'clear';
}

const isCommand = (text: string) => /^\/[a-z0-9-]+(\s|$)/.test(text);

/** Writes messages and commands. Enter sends, Shift+Enter begins a line; Tab completes a command. */
export const Composer = memo(function Composer(props: { threadId: string; isBusy: boolean }): ReactNode {
  const { threadId, isBusy } = props;
  const box = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState('');
  const [strategy, setStrategy] = useState<Strategy>('enqueue');
  const [isSending, setSending] = useState(false);
  const { output, setOutput, run } = useCommands(threadId);
  const completions = useCompletion(text);
  const [chosen, setChosen] = useState(0);
  useShortcuts(useMemo(() => ({ m: () => box.current?.focus() }), []));

  const send = async () => {
    if (text.trim() === '' || isSending) return;
    setSending(true);
    try {
      if (isCommand(text)) await run(text.trim());
      else await sendMessage(threadId, text, strategy);
      setText('');
    } catch (error) {
      toast(messageOf(error), 'bad');
    } finally {
      setSending(false);
      box.current?.focus();
    }
  };
  const take = (index: number) => {
    const completion = completions[index];
    if (!completion) return;
    setText(completion.line);
    setChosen(0);
    box.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const { length } = completions;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void send();
    } else if (event.key === 'Escape') {
      setOutput(undefined);
      box.current?.blur();
    } else if (length > 0 && event.key === 'Tab') {
      event.preventDefault();
      take(chosen);
    } else if (length > 0 && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      setChosen((chosen + (event.key === 'ArrowDown' ? 1 : length - 1)) % length);
    }
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {output && <Output {...output} onClose={() => setOutput(undefined)} />}
      <Completions completions={completions} chosen={chosen} onTake={take} />
      <textarea
        ref={box}
        aria-label="Message or command"
        placeholder="Message, or / for a command"
        rows={Math.min(8, text.split('\n').length + 1)}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        <span className="muted hint">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> new line
        </span>
        <span className="grow" />
        {isBusy && (
          <select
            aria-label="While a run is in progress"
            value={strategy}
            onChange={(event) => setStrategy(event.target.value as Strategy)}
          >
            <option value="enqueue">Wait for the run in progress</option>
            <option value="interrupt">Interrupt the run in progress</option>
          </select>
        )}
        <button type="submit" className="primary" disabled={isSending || text.trim() === ''}>
          Send
        </button>
      </div>
    </form>
  );
});

function Output({ output, isError, onClose }: CommandResult & { onClose(): void }): ReactNode {
  return (
    <section className="command-output" aria-label="Output of the command">
      <pre className={isError ? 'tone-bad' : ''}>{output}</pre>
      <button type="button" className="quiet" onClick={onClose} aria-label="Close the output">
        ✕
      </button>
    </section>
  );
}

function Completions(props: {
  completions: readonly Completion[];
  chosen: number;
  onTake(index: number): void;
}): ReactNode {
  const { completions, chosen, onTake } = props;
  if (completions.length === 0) return null;
  return (
    <ul className="completions" aria-label="Completions">
      {completions.map(({ line, name, about }, index) => (
        <li key={line}>
          <button
            type="button"
            tabIndex={-1}
            className={index === Math.min(chosen, completions.length - 1) ? 'chosen' : ''}
            onClick={() => onTake(index)}
          >
            <span className="mono">{name}</span> <span className="muted cut">{about}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Runs commands, as a person types them, and keeps the latest output. */
function useCommands(threadId: string) {
  const [output, setOutput] = useState<CommandResult>();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const run = async (command: string) => {
    const result = await api<CommandResult>('POST', `/v1/threads/${threadId}/commands`, {
      body: { command },
    });
    setOutput(result);
    await queries.invalidateQueries({ queryKey: ['thread', threadId] });
    if (result.action === 'clear') {
      const next = await api<{ threadId: string }>('POST', '/v1/threads', { body: {} });
      await navigate({ to: `/threads/${next.threadId}` });
    }
    if (result.action === 'quit') await navigate({ to: '/threads' });
  };
  return { output, setOutput, run };
}
