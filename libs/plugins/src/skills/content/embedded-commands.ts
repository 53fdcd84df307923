import type { EmbeddedCommands } from '@harness/dispatch';
import { fillIn, fillInFolder, firstNumberOf, wordsOf } from './fill-in.ts';

/** Where a command stands in instructions: at the start of a line or after a blank. */
const embedded = /(?<=^|\s)!`([^`\n]+)`/gm;
/** Most commands of one skill; further ones stay text. */
const mostCommands = 20;

/**
 * Finds the commands that are embedded in instructions, `` !`git status` ``, each once. `root`: where the skill's files are.
 * Undefined: there are none.
 */
export function embeddedCommandsIn(instructions: string, root: string): EmbeddedCommands | undefined {
  const found = [...instructions.matchAll(embedded)].map(([, text = '']) => fillInFolder(text, root));
  const texts = [...new Set(found)].slice(0, mostCommands);
  return texts.length === 0 ? undefined : { texts, first: firstNumberOf(instructions) };
}

/** An embedded command and its arguments, which are never part of what the shell reads. */
export interface EmbeddedCommand {
  /** Its text in the instructions, after their arguments were filled in. */
  place: string;
  /** What the shell reads: the text of the skill's author. */
  script: string;
  /** The shell's `$0`, `$1`, … */
  parameters: string[];
  /** `ARGUMENTS`, `ARGUMENTS_0`, … */
  env: Record<string, string>;
}

/** `$ARGUMENTS[1]` is no name of a shell's variable. */
const numbered = /\$ARGUMENTS\[(\d{1,2})\]/g;

/** Gives arguments to the embedded commands of a skill. */
export function withArguments({ texts, first }: EmbeddedCommands, args: string): EmbeddedCommand[] {
  const words = wordsOf(args).map(withoutNull);
  const parameters = first === 0 ? (words.length > 0 ? words : ['']) : ['bash', ...words];
  const env = {
    ARGUMENTS: withoutNull(args),
    ...Object.fromEntries(words.slice(0, 100).map((word, index) => [`ARGUMENTS_${index}`, word])),
  };
  return texts.map((text) => ({
    place: `!\`${fillIn(text, { args, root: '', first })}\``,
    script: text.replaceAll(numbered, (_, index) => `\${ARGUMENTS_${Number(index)}}`),
    parameters,
    env,
  }));
}

/** Environment variables cannot contain NUL. */
const withoutNull = (text: string) => text.replaceAll('\0', '');
