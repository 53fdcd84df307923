import type { Turn } from '@harness/dispatch';
import { type EndedSpan, siblingOf, spanIdOf, type Tracing } from '@harness/runtime';
import type { ObservedTurn } from '../process/observe-turn.ts';
import type { ModelRequest } from '../session/model-usage.ts';

/**
 * The span of a turn, as a traceparent: tool calls at gateways find it by the attempt's nonce. Undefined: the run is not
 * traced.
 */
export const turnSpanOf = ({ trace, nonce }: Turn): string | undefined =>
  trace && siblingOf(trace, spanIdOf(nonce));

/**
 * Records the spans of a turn that has ended: the turn with its session, model requests and commit; the run, if the turn
 * gave it its result; and the previous attempt, if its process died and so could not record it. A turn whose thread was lost
 * is recorded by the next owner.
 */
export function recordTurn(tracing: Tracing, turn: Turn, seen: ObservedTurn): void {
  const { trace } = turn;
  const turnSpan = turnSpanOf(turn);
  if (!tracing.isOn || trace === undefined || turnSpan === undefined) return;
  const runSpan = siblingOf(trace, spanIdOf(turn.runId));
  if (turn.died) tracing.record(deadSpanOf(turn, runSpan));
  // "again": the agent process died in the middle of it; the next attempt records this one.
  if (seen.outcome === 'lost' || seen.outcome === 'again') return;
  for (const span of partsOf(turn, seen, turnSpan)) tracing.record(span);
  tracing.record(turnRecord(turn, seen, runSpan));
  if (seen.ending) tracing.record(runRecord(tracing, turn, seen));
}

const about = (turn: Turn) => ({
  'gen_ai.conversation.id': turn.shownId,
  'harness.run.id': turn.runId,
  'harness.tenant': turn.tenant,
});

function runRecord({ hasContent }: Tracing, turn: Turn, { ending, times }: ObservedTurn): EndedSpan {
  const { kind, agent, trace = '', input, task } = turn;
  const operation = kind === 'review' ? 'review' : `invoke_agent${agent ? ` ${agent.name}` : ''}`;
  return {
    name: operation,
    parent: trace,
    spanId: spanIdOf(turn.runId),
    startMs: turn.createdAtMs,
    endMs: times.endedMs,
    error: ending?.error?.code,
    attributes: {
      ...about(turn),
      'gen_ai.operation.name': 'invoke_agent',
      ...(agent && { 'gen_ai.agent.name': agent.name }),
      ...(task && { 'harness.task.id': task.taskId, 'harness.task.iteration': task.iteration }),
      'harness.run.kind': kind,
      'harness.run.status': ending?.status ?? '',
      'harness.run.attempts': turn.attempt,
      ...(ending?.usage && {
        'gen_ai.usage.input_tokens': ending.usage.inputTokens,
        'gen_ai.usage.output_tokens': ending.usage.outputTokens,
        'harness.cost_usd': ending.usage.costUsd,
      }),
      ...(hasContent && {
        'gen_ai.input.messages': messages('user', input),
        'gen_ai.output.messages': messages('assistant', ending?.result ?? ''),
      }),
    },
  };
}

const messages = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

function turnRecord(turn: Turn, { outcome, path, times, attempt }: ObservedTurn, parent: string): EndedSpan {
  const isFailure = outcome !== 'success' && outcome !== 'cancelled' && outcome !== 'interrupted';
  return {
    name: 'turn',
    parent,
    spanId: spanIdOf(turn.nonce),
    startMs: times.begunMs,
    endMs: times.endedMs,
    error: isFailure ? outcome.replaceAll(' ', '_') : undefined,
    attributes: {
      ...about(turn),
      'harness.attempt': attempt,
      'harness.epoch': turn.hold.epoch,
      'harness.worker': turn.hold.me,
      'harness.outcome': outcome,
      'harness.session.path': path,
    },
    events: turn.died
      ? [
          {
            name: 'failover',
            atMs: times.begunMs,
            attributes: { 'harness.silent_ms': turn.died.silentMs },
          },
        ]
      : [],
  };
}

/** The previous attempt, as far as Redis knows it. */
function deadSpanOf(turn: Turn, parent: string): EndedSpan {
  const { nonce, begunAtMs, seenAtMs } = turn.died as NonNullable<Turn['died']>;
  return {
    name: 'turn',
    parent,
    spanId: spanIdOf(nonce),
    startMs: begunAtMs,
    endMs: seenAtMs,
    error: 'process_died',
    attributes: { ...about(turn), 'harness.attempt': turn.attempt - 1, 'harness.outcome': 'process died' },
  };
}

function partsOf(turn: Turn, { path, times, requests, attempt }: ObservedTurn, parent: string): EndedSpan[] {
  const { begunMs, sessionMs, commitMs, endedMs } = times;
  return [
    ...(attempt === 1 ? [{ name: 'queue', parent, startMs: turn.createdAtMs, endMs: begunMs }] : []),
    ...(sessionMs === undefined
      ? []
      : [
          {
            name: `session ${path}`,
            parent,
            startMs: begunMs,
            endMs: sessionMs,
            attributes: { 'harness.session.path': path },
          },
        ]),
    ...requests.map((request) => chatSpanOf(request, parent)),
    ...(commitMs === undefined ? [] : [{ name: 'commit', parent, startMs: commitMs, endMs: endedMs }]),
  ];
}

function chatSpanOf(request: ModelRequest, parent: string): EndedSpan {
  const { model, startMs, firstTokenMs, endMs, inputTokens, outputTokens, stopReason } = request;
  return {
    name: `chat ${model}`,
    kind: 'CLIENT',
    parent,
    startMs,
    endMs,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': model,
      'gen_ai.usage.input_tokens': inputTokens,
      'gen_ai.usage.output_tokens': outputTokens,
      ...(stopReason && { 'gen_ai.response.finish_reasons': [stopReason] }),
      'gen_ai.response.time_to_first_chunk': (firstTokenMs - startMs) / 1000,
    },
  };
}
