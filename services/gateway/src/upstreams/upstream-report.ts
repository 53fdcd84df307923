import type { LockDifference, Upstream } from '@harness/contracts';
import { lockedPartsOf, type PluginDefinition, type PluginHost } from '@harness/plugin-kit';
import type { UpstreamConfig } from './file/upstream-config.ts';
import type { LinkStatus, UpstreamDescription } from './link/link.ts';
import type { UpstreamScrubber } from './secrets/upstream-scrubber.ts';

/** What an operator sees of an upstream: never its arguments, environment or headers. */
export interface UpstreamReport {
  config: UpstreamConfig;
  /** How this gateway encloses its child process; null = it does not ask for it. */
  sandbox: Upstream['sandbox'];
  /** The gateway that is connected to it, where only one is. */
  owner: string | null;
  /** Undefined while it is disabled. */
  link: LinkStatus | undefined;
  description: UpstreamDescription | undefined;
  /** Undefined until it was connected once. */
  plugin: PluginDefinition | undefined;
  problems: readonly string[];
  lock: readonly LockDifference[];
  /** Keeps what the upstream says of itself from repeating its secrets. */
  scrubber: UpstreamScrubber;
}

/** Differences that are shown of one upstream, and characters of one field. */
const maxDifferences = 100;
const maxChars = 4_000;

/** What of a plugin differs from the tool lock; empty without a lock. */
export function lockDifferencesOf(pluginName: string, plugins: PluginHost): LockDifference[] {
  const { toolLock } = plugins;
  const plugin = plugins.plugins.find(({ name }) => name === pluginName);
  if (!toolLock || !plugin) return [];
  return lockedPartsOf([plugin])
    .flatMap((part): LockDifference[] => {
      const { kind, name, sha256, seen } = part;
      const locked = toolLock.lock[kind];
      if (locked === undefined || (Object.hasOwn(locked, name) && locked[name]?.sha256 === sha256)) return [];
      const accepted = Object.hasOwn(locked, name) ? locked[name] : undefined;
      if (!accepted) return [{ kind, name, change: 'new', fields: [] }];
      return [{ kind, name, change: 'changed', fields: fieldsOf(accepted.seen, seen) }];
    })
    .slice(0, maxDifferences);
}

function fieldsOf(
  accepted: Record<string, unknown> | undefined,
  now: Record<string, unknown>,
): LockDifference['fields'] {
  if (!accepted) return [];
  return [...new Set([...Object.keys(accepted), ...Object.keys(now)])].flatMap((field) => {
    const [before, after] = [textOf(accepted[field]), textOf(now[field])];
    return before === after ? [] : [{ field, accepted: before, now: after }];
  });
}

const textOf = (value: unknown): string | null =>
  value === undefined ? null : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, maxChars);
