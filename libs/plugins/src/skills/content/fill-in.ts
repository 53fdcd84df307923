/** The values of the placeholders. */
export interface FillIn {
  /** The arguments as typed. */
  args: string;
  /** The path at which the skill's files are found. */
  root: string;
  /** The number of the first argument. Default: as the text counts them. */
  first?: 0 | 1;
}

/** The placeholders of a skill's folder. */
const folder =
  /\$\{CLAUDE_PLUGIN_ROOT\}\/skills\/[\w.-]+|\$\{CLAUDE_(?:SKILL_DIR|PLUGIN_ROOT)\}|\{baseDir\}/g;
/** All placeholders, those of arguments included; `$1` is one, but `$100` and `$1.50` are not. */
const placeholder = new RegExp(
  `(?<folder>${folder.source})|\\$ARGUMENTS\\[(?<index>\\d{1,2})\\]|(?<all>\\$ARGUMENTS(?!\\[\\d))|\\$(?<number>\\d)(?!\\d|[.,]\\d)`,
  'g',
);

/** Whether the instructions say where their arguments belong. */
export const placesArguments = (text: string): boolean => text.includes('$ARGUMENTS');

/**
 * Fills arguments and folders in: `$ARGUMENTS`, `$ARGUMENTS[0]`, `$1`; `${CLAUDE_SKILL_DIR}`, `${CLAUDE_PLUGIN_ROOT}`,
 * `{baseDir}`. `$1` is the first argument, unless there is a `$0`. It stays as it is without that argument, since it may be
 * part of a script. Placeholders within arguments are not replaced.
 */
export function fillIn(text: string, { args, root, first = firstNumberOf(text) }: FillIn): string {
  const words = wordsOf(args);
  return text.replace(placeholder, (whole, ...rest) => {
    const { folder, index, all, number } = rest.at(-1) as Record<string, string | undefined>;
    if (folder !== undefined) return root;
    if (index !== undefined) return words[Number(index)] ?? '';
    return all === undefined ? (words[Number(number) - first] ?? whole) : args;
  });
}

/** Fills folders in, and no arguments. */
export const fillInFolder = (text: string, root: string): string => text.replace(folder, () => root);

/** The number that stands for the first argument: 0 where there is a `$0`. */
export const firstNumberOf = (text: string): 0 | 1 => (/\$0(?!\d|[.,]\d)/.test(text) ? 0 : 1);

/** Splits arguments as a shell does: at blanks, but not within quotes. */
export function wordsOf(args: string): string[] {
  const words = args.match(/(?:[^\s"']|"[^"]*"|'[^']*')+|["']/g) ?? [];
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}
