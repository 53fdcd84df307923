/**
 * HARNESS_UPSTREAMS_FILE: MCP servers and HTTP APIs, in the formats of other clients: `mcpServers` of Claude Code and Cursor,
 * `servers` and `inputs` of VS Code, with comments and trailing commas.
 *
 *   upstream-config.ts  one entry
 *   upstream-names.ts   its names here
 *   variables.ts        `${VAR}` and its kin
 */
import { readFile, stat } from 'node:fs/promises';
import { isObject } from '@harness/contracts';
import type { Diagnostic } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { ConfigError, type Logger } from '@harness/runtime';
import { getNodeValue, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { type FollowedFile, followFile } from '../../follow-file.ts';
import { parseUpstream, type UpstreamConfig } from './upstream-config.ts';
import { pluginNameOf } from './upstream-names.ts';
import { expandVariables } from './variables.ts';

/** The content of a file: what could be read, and what is wrong with the rest. */
export interface UpstreamsFile {
  /** In the order of the file. */
  upstreams: readonly UpstreamConfig[];
  diagnostics: readonly Diagnostic[];
}

/** Names that upstreams cannot have: that of the tools of the search, and those of built-in plugins, disabled ones included. */
const reserved = new Set(['tools', 'harness', ...builtInPlugins.map(({ name }) => name)]);

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads a file. A bad entry becomes a diagnostic. Throws ConfigError for a file that cannot be read, is no JSON, or may be
 * written by every user of the machine: it names commands that this gateway runs.
 */
export async function loadUpstreams(file: string, env: Env): Promise<UpstreamsFile> {
  const refuse = (problem: string) => new ConfigError(`HARNESS_UPSTREAMS_FILE (${file}) ${problem}`);
  const [{ mode }, text] = await Promise.all([stat(file), readFile(file, 'utf8')]).catch((error: Error) => {
    throw refuse(`cannot be read: ${error.message}`);
  });
  if (mode & 0o002)
    throw refuse(
      'may be written by every user of this machine, and names commands that the gateway runs: chmod o-w',
    );
  try {
    return parseUpstreams(text, env);
  } catch (error) {
    throw refuse(`is not valid: ${(error as Error).message}`);
  }
}

/** Follows the file. `content` was read at the start of the process. */
export const followUpstreamsFile = (
  { path, content, env }: { path: string; content: UpstreamsFile; env: Env },
  logger: Logger,
): FollowedFile<UpstreamsFile> => {
  const report = ({ diagnostics }: UpstreamsFile) => {
    for (const { level, message } of diagnostics)
      logger[level === 'error' ? 'error' : 'warn']({ file: path }, `upstream ${message}`);
  };
  report(content);
  const file = followFile(path, {
    load: (file) => loadUpstreams(file, env),
    initial: content,
    what: 'upstreams',
    summaryOf: ({ upstreams, diagnostics }) => ({
      upstreams: upstreams.length,
      diagnostics: diagnostics.length,
    }),
    logger,
  });
  file.onChange(() => report(file.current()));
  return file;
};

/** Parses the text of a file. Throws an Error for text that is not such a file at all. */
export function parseUpstreams(text: string, env: Env): UpstreamsFile {
  const { entries, inputs } = entriesOf(text);
  const diagnostics: Diagnostic[] = [];
  const upstreams: UpstreamConfig[] = [];
  const writtenAs = new Map<string, string>();
  for (const [written, entry] of Object.entries(entries)) {
    const report = (level: Diagnostic['level'], problem: string) =>
      diagnostics.push({ source: written, level, message: `${written}: ${problem}` });
    try {
      const name = pluginNameOf(written);
      if (name === undefined) throw new Error('has no letter or digit in its name; rename it');
      if (reserved.has(name)) throw new Error(`the name "${name}" belongs to this gateway; rename it`);
      const other = writtenAs.get(name);
      if (other !== undefined)
        throw new Error(`would be called "${name}", like "${other}" before it; rename one of them`);
      const expanded = expandVariables(entry, { env, inputs });
      upstreams.push(parseUpstream(name, expanded, (problem) => report('warning', problem)));
      writtenAs.set(name, written);
    } catch (error) {
      report('error', (error as Error).message);
    }
  }
  return { upstreams, diagnostics };
}

function entriesOf(text: string) {
  const errors: ParseError[] = [];
  // Unlike `parse`, this makes objects without a prototype: a server called `__proto__` would become that of the others.
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const parsed: unknown = root && getNodeValue(root);
  const [error] = errors;
  if (error) {
    const before = text.slice(0, error.offset).split('\n');
    throw new Error(
      `${printParseErrorCode(error.error)} in line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`,
    );
  }
  if (!isObject(parsed)) throw new Error('it must be an object with "mcpServers" or "servers"');
  // VS Code's settings.json has them one level deeper.
  const { mcpServers, servers, inputs } = (isObject(parsed.mcp) ? parsed.mcp : parsed) as Record<
    string,
    unknown
  >;
  const entries = mcpServers ?? servers;
  if (!isObject(entries)) throw new Error('it must have an object "mcpServers" or "servers"');
  return { entries, inputs: inputsOf(inputs) };
}

const inputsOf = (inputs: unknown) =>
  new Map(
    (Array.isArray(inputs) ? inputs : []).flatMap((input): [string, string | undefined][] =>
      isObject(input) && typeof input.id === 'string'
        ? [[input.id, typeof input.default === 'string' ? input.default : undefined]]
        : [],
    ),
  );
