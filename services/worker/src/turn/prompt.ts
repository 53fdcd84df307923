import { builtInToolsAtStart, builtInToolsIn } from '@harness/contracts';
import { type Dispatch, promptUuidOf, type Turn } from '@harness/dispatch';
import type { HookRunner } from '@harness/plugin-kit';
import { type BuiltInCall, refusalOf } from '../sandbox/tool-rules.ts';
import type { Lent } from '../session/pool/session-lending.ts';
import type { Prompt, Session } from '../session/session.ts';
import type { PromptBlock } from '../workspace/attachments.ts';
import { inputOf, skillOutputsOf } from './skill-outputs.ts';

/** What a prompt is made with. */
export interface PromptDeps {
  hooks: HookRunner;
  /** Whether the session's transcript already has the run's message. */
  wasSent(turn: Turn, session: Session): Promise<boolean>;
  /** What the session may do with tools at this moment. */
  authorityOf: Dispatch['authorityOf'];
  /** The embedded commands of a skill. */
  commandsOf: Dispatch['profiles']['skillCommands'];
  /** Aborts when the turn is stopped. */
  signal: AbortSignal;
}

const continuation =
  'The agent process ended in the middle of your last turn. Continue that turn now. Tool calls without a result may or may not have happened.';

/** A turn that was handed back has kept its files; one whose process died has not. */
const lostFiles = 'Your workspace is as it was before that turn: what the turn had changed there is lost.';

/** What a new prompt says after a turn whose files could not be stored. */
const lostBefore: PromptBlock = {
  type: 'text',
  text: '<system-reminder>\nWhat your last turn changed in the workspace could not be stored and is lost. The files are as they were before that turn; repeat what you still need.\n</system-reminder>',
};

/** What the model is asked: the message with its files, or to continue the turn of an earlier attempt. */
export async function promptOf(
  turn: Turn,
  { session, path }: Pick<Lent, 'session' | 'path'>,
  deps: PromptDeps,
): Promise<Pick<Prompt, 'prompt' | 'attachments' | 'uuid' | 'onBuiltInTool'>> {
  const onBuiltInTool = builtInRefusals(turn, deps);
  // Only the transcript shows whether an earlier attempt sent the prompt: the SDK never responds to the same
  // message id twice.
  const sent = path === 'resume' && (await deps.wasSent(turn, session));
  const uuid = promptUuidOf(turn, sent);
  const ofMessage = (await session.workspace?.prepare(turn)) ?? [];
  const isLost = session.workspace !== undefined && turn.filesLost === true;
  if (sent) {
    const lost = isLost || (session.workspace && turn.died) ? ` ${lostFiles}` : '';
    return { prompt: continuation + lost, uuid, onBuiltInTool };
  }
  const about = { runId: turn.runId, path, finishedRuns: turn.finishedRuns, kind: turn.kind };
  const input = await inputOf(turn, session, { ...deps, onBuiltInTool });
  const prompt = await deps.hooks.beforeInvoke(turn.shownId, input, about);
  const outputs = await skillOutputsOf(turn, session, { onBuiltInTool, signal: deps.signal });
  const attachments = [...(isLost ? [lostBefore] : []), ...ofMessage, ...outputs];
  return { prompt, attachments, uuid, onBuiltInTool };
}

/** Says why a call of a built-in tool is refused, with what the run may do at that moment. */
const builtInRefusals =
  (turn: Turn, deps: PromptDeps) =>
  async (call: BuiltInCall): Promise<string | undefined> => {
    const atStart = builtInToolsAtStart(turn);
    const { threadId, epoch, me: owner } = turn.hold;
    const rights = await deps.authorityOf({ threadId, epoch, owner });
    if (rights.outcome !== 'ok') return 'The run is over.';
    return refusalOf(call, rights.tools ? builtInToolsIn(rights.tools) : atStart, atStart);
  };
