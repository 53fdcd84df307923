import type { EmbeddedCommands, Turn } from '@harness/dispatch';
import { withOutputs } from '../sandbox/embedded-commands.ts';
import type { BuiltInCall } from '../sandbox/tool-rules.ts';
import type { Session } from '../session/session.ts';
import type { PromptBlock } from '../workspace/attachments.ts';

/** What running the embedded commands of a skill needs. */
export interface SkillOutputDeps {
  /** Why a call of a built-in tool is refused; undefined = it is not. */
  onBuiltInTool(call: BuiltInCall): Promise<string | undefined>;
  /** The embedded commands of a skill; undefined = there are none. */
  commandsOf(skill: string): Promise<EmbeddedCommands | undefined>;
  /** Ends the commands. */
  signal: AbortSignal;
}

/** The input of a turn; where it is the instructions of a skill, with the output of the commands in them. */
export async function inputOf(
  { followed, input }: Pick<Turn, 'followed' | 'input'>,
  session: Pick<Session, 'runEmbedded'>,
  { onBuiltInTool, commandsOf, signal }: SkillOutputDeps,
): Promise<string> {
  const commands = followed && (await commandsOf(followed.name));
  if (!commands) return input;
  const embedded = { commands, args: followed.arguments, text: input };
  return withOutputs(input, await session.runEmbedded(embedded, { refusalOf: onBuiltInTool, signal }));
}

/**
 * Runs the embedded commands of the active skill, whose instructions are in the system prompt, and returns their output for the
 * prompt. The message is their arguments.
 */
export async function skillOutputsOf(
  turn: Pick<Turn, 'skill' | 'input' | 'kind'>,
  session: Pick<Session, 'runEmbedded'>,
  deps: Pick<SkillOutputDeps, 'onBuiltInTool' | 'signal'>,
): Promise<PromptBlock[]> {
  const { skill, input, kind } = turn;
  if (!skill?.commands || kind !== 'message') return []; // the text of system mail is not the user's
  const outputs = await session.runEmbedded(
    { commands: skill.commands, args: input },
    { refusalOf: deps.onBuiltInTool, signal: deps.signal },
  );
  if (outputs.size === 0) return [];
  const texts = [...outputs].map(([place, output]) => `${place}\n${output}`);
  const text = `The instructions of the skill "${skill.name}" name commands. They ran just now, with the message as their arguments; their output stands in their place:\n\n${texts.join('\n\n')}`;
  return [
    {
      type: 'text',
      text: `<system-reminder>\n${text.replaceAll('</system', '<\\/system')}\n</system-reminder>`,
    },
  ];
}
