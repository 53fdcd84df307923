import { readFile, writeFile } from 'node:fs/promises';
import { labelOf, loadPlugins, lockKinds, lockOf, parseToolLock, type ToolLock } from '@harness/plugin-kit';
import { builtInPluginsWith } from '@harness/plugins';
import { ConfigError } from '@harness/runtime';
import type { DescribedUpstreams } from '../upstreams/describe-upstreams.ts';

/** Reads HARNESS_TOOL_LOCK_FILE. Throws ConfigError when it cannot be read or is not valid. */
export async function readToolLock(file: string): Promise<ToolLock> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(
      `HARNESS_TOOL_LOCK_FILE cannot be read: ${error.message}. "npm run tools:lock" writes it.`,
    );
  });
  try {
    return parseToolLock(text);
  } catch (error) {
    throw new ConfigError(`HARNESS_TOOL_LOCK_FILE (${file}) is not valid: ${(error as Error).message}`);
  }
}

/**
 * Writes the lock with what the built-in plugins offer now: tools, prompts, resources and commands (without those in `leftOut`), and the
 * modules. Returns the changes as text. Throws ConfigError, and writes nothing, when a plugin does not load:
 * the lock would lose its tools. An
 * upstream that cannot be reached keeps its entries.
 */
export async function writeToolLock(
  file: string,
  modulePaths: readonly string[],
  { leftOut = [], upstreams = noUpstreams }: LockOptions = {},
): Promise<string> {
  const builtIn = builtInPluginsWith(unread).filter(({ name }) => !leftOut.includes(name));
  const { loaded, diagnostics } = await loadPlugins({ builtIn, modulePaths });
  const problems = diagnostics.map(({ message }) => `  ${message}`);
  if (problems.length > 0) throw new ConfigError(`The tool lock was not written:\n${problems.join('\n')}`);
  // A missing or broken lock counts as empty.
  const before = await readToolLock(file).catch((): ToolLock => ({ tools: {} }));
  const unreached = new Set(upstreams.failures.map(({ name }) => name));
  const lock = withEntriesOf(lockOf(loaded, upstreams.plugins), before, unreached);
  await writeFile(file, `${JSON.stringify(lock, null, 2)}\n`);
  const warnings = upstreams.failures.map(
    ({ name, message }) => `\n  kept     ${name}: it cannot be reached: ${message}`,
  );
  return `${changesOf(before, lock)}${warnings.join('')}`;
}

const refuse = async (): Promise<never> => {
  throw new Error('nothing is read while the tool lock is written');
};
/** Also the tools that are offered only where threads have files. */
const unread = { list: refuse, read: refuse };

/** What a lock covers besides the modules. */
interface LockOptions {
  /** Built-in plugins that are not loaded. */
  leftOut?: readonly string[];
  upstreams?: DescribedUpstreams;
}
const noUpstreams: DescribedUpstreams = { plugins: [], failures: [] };

/** The lock with the earlier entries of these upstreams. */
function withEntriesOf(
  lock: ReturnType<typeof lockOf>,
  before: ToolLock,
  upstreams: ReadonlySet<string>,
): ReturnType<typeof lockOf> {
  const kept = (kind: (typeof lockKinds)[number]) =>
    Object.fromEntries(
      Object.entries(before[kind] ?? {}).filter(
        ([, { upstream }]) => upstream !== undefined && upstreams.has(upstream),
      ),
    );
  const both = lockKinds.map((kind) => [kind, { ...kept(kind), ...lock[kind] }] as const);
  return Object.fromEntries(both) as ReturnType<typeof lockOf>;
}

function changesOf(before: ToolLock, now: ReturnType<typeof lockOf>): string {
  const changed = lockKinds.flatMap((kind) => {
    const [was, is] = [before[kind] ?? {}, now[kind]];
    return Object.keys({ ...was, ...is }).flatMap((name) => {
      const [old, current] = [was[name]?.sha256, is[name]?.sha256];
      if (old === current) return [];
      const what = old === undefined ? 'new    ' : current === undefined ? 'gone   ' : 'changed';
      return `  ${what}  ${labelOf({ kind, name })}`;
    });
  });
  const counts = lockKinds.map((kind) => `${Object.keys(now[kind]).length} ${kind}`);
  const total = `${counts.slice(0, -1).join(', ')} and ${counts.at(-1)} are accepted`;
  return changed.length === 0 ? `${total}; nothing changed.` : `${total}:\n${changed.join('\n')}`;
}
