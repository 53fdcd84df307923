/** One step of a script. A script has one step per line, `keyword: argument`; `parseLine` has all keywords. */
export type Step =
  | { kind: 'say'; text: string }
  | { kind: 'use'; tool: string; input: Record<string, unknown> }
  | { kind: 'sleep'; ms: number }
  | { kind: 'stream'; count: number }
  /** `times` Infinity: fails always. */
  | { kind: 'fail'; status: number; times: number }
  | { kind: 'remember'; word: string }
  | { kind: 'reject'; times: number }
  | { kind: 'verdict'; text: string }
  /** The form of a verdict: `plain`, `fenced`, `prose`; any other name means `structured`. */
  | { kind: 'form'; name: string }
  | { kind: 'recall' }
  | { kind: 'hang' | 'cut' };

const sleepLimitMs = 10 * 60_000;
const streamLimit = 100_000;

/**
 * Splits at line feeds only, like `quote`. Otherwise quoted material could end its quotation with a carriage return.
 */
export const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim());

/** Whether a line is quoted material. */
export const isQuoted = (line: string): boolean => line === '>' || line.startsWith('> ');

/** A script with this line continues where it was when its turn is interrupted and the model is asked to continue. */
const persistence = 'persist:';
const isContinuation = (text: string) =>
  text.startsWith('The agent process ended in the middle of your last turn.');

/** Whether `next` asks to continue `script`, and the script allows it. */
export const isContinuedBy = (script: string, next: string): boolean =>
  isContinuation(next) && linesOf(script).includes(persistence);

/** Parses a script. Ignores blank lines and quoted lines; every other line is one step. */
export const parseScript = (text: string): Step[] =>
  linesOf(text)
    .filter((line) => line !== '' && line !== persistence && !isQuoted(line))
    .map(parseLine);

function parseLine(line: string): Step {
  const [, keyword, argument = ''] = /^([a-z]+):\s*(.*)$/s.exec(line) ?? [];
  switch (keyword) {
    case 'say':
      return { kind: 'say', text: argument };
    case 'call':
      return parseCall(argument) ?? unreadable(line, 'call: <plugin>__<tool> {a JSON object}');
    case 'use':
      return parseUse(argument) ?? unreadable(line, 'use: NAME {a JSON object}');
    case 'delegate':
      return useOf('delegation__delegate', { prompt: withLineBreaks(argument) });
    case 'checkin':
      return useOf('delegation__checkin', { message: argument });
    case 'remember':
      return { kind: 'remember', word: argument };
    case 'verdict':
      return { kind: 'verdict', text: withLineBreaks(argument) };
    case 'form':
      return { kind: 'form', name: argument };
    case 'recall':
      return { kind: keyword };
    case 'hang':
    case 'cut':
      return { kind: keyword };
    default:
      return parseNumbers(line, keyword, argument) ?? { kind: 'say', text: `You said: ${line}` };
  }
}

function parseNumbers(line: string, keyword: string | undefined, argument: string): Step | undefined {
  const numbers = /^\d+( +\d+)?$/.test(argument) ? argument.split(/ +/).map(Number) : [];
  const [first, second] = numbers;
  const known = first !== undefined;
  switch (keyword) {
    case 'sleep':
      return known ? { kind: 'sleep', ms: Math.min(first, sleepLimitMs) } : unreadable(line, 'sleep: MS');
    case 'stream':
      return first ? { kind: 'stream', count: Math.min(first, streamLimit) } : unreadable(line, 'stream: N');
    case 'reject':
      return { kind: 'reject', times: first ?? 0 };
    case 'fail':
      return known && first >= 400 && first <= 599
        ? { kind: 'fail', status: first, times: second ?? Number.POSITIVE_INFINITY }
        : unreadable(line, 'fail: STATUS [TIMES], STATUS from 400 to 599');
    default:
      return undefined;
  }
}

function parseCall(argument: string): Step | undefined {
  const used = parseUse(argument);
  return used?.kind === 'use' ? useOf(used.tool, used.input) : undefined;
}

/** A tool by its bare name: a built-in tool of the Agent SDK. */
function parseUse(argument: string): Step | undefined {
  const [, tool, json = '{}'] = /^(\S+)(?:\s+(.+))?$/s.exec(argument) ?? [];
  const input = parseObject(json);
  return tool && input ? { kind: 'use', tool, input } : undefined;
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return value && typeof value === 'object' && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // the response to the line reports it
  }
}

const useOf = (tool: string, input: Record<string, unknown>): Step => ({
  kind: 'use',
  tool: `mcp__harness__${tool}`,
  input,
});

/** Replaces `\n` by a line break and `\\n` by `\n`, so that a delegated script can delegate a script. */
const withLineBreaks = (text: string): string =>
  text.replace(/\\(\\n|n)/g, (_, rest: string) => (rest === 'n' ? '\n' : rest));

const unreadable = (line: string, form: string): Step => ({
  kind: 'say',
  text: `I cannot read the line "${line}"; its form is "${form}".`,
});
