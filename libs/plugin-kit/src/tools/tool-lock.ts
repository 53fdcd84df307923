/**
 * The tool lock: hashes of the tool descriptions that a person has accepted. Agents follow descriptions, so a tool whose
 * description has changed, by an update or by an attack, counts as a different tool until a person accepts it again.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PluginDefinition } from '../contract/contract.ts';
import { type CollectedTool, collectTools } from '../host/collect.ts';
import type { Diagnostic } from '../load/loader.ts';
import { canonicalJson } from './canonical-json.ts';
import { descriptorOf, type ToolDescriptor } from './tool-descriptor.ts';

const ToolLockFile = z.object({
  /** By qualified name. `version` is the plugin's version when the tool was accepted; it is for people only. */
  tools: z.record(
    z.string(),
    z.object({ version: z.string().optional(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
});
/** The content of a lock file. */
export type ToolLock = z.infer<typeof ToolLockFile>;

/** Parses a lock file. Throws an Error with every problem of the text. */
export function parseToolLock(text: string): ToolLock {
  const parsed = ToolLockFile.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}

/** Makes a lock that accepts the tools of these plugins as they are now. */
export function lockOf(plugins: readonly PluginDefinition[]): ToolLock {
  const versions = new Map(plugins.map(({ name, version }) => [name, version]));
  const entries = collectTools(plugins).map((tool): [string, ToolLock['tools'][string]] => {
    const version = versions.get(tool.pluginName);
    const sha256 = hashOfTool(descriptorOf(tool));
    return [tool.qualifiedName, { ...(version !== undefined && { version }), sha256 }];
  });
  return { tools: Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** SHA-256, in hex, of everything that a client sees of the tool. */
export function hashOfTool(descriptor: ToolDescriptor): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = descriptor;
  const described = { name, title, description, inputSchema, outputSchema, annotations };
  return createHash('sha256').update(canonicalJson(described)).digest('hex');
}

/** Whether the lock has this tool with the same hash. */
export const isAccepted = (descriptor: ToolDescriptor, { tools }: ToolLock): boolean =>
  Object.hasOwn(tools, descriptor.name) && tools[descriptor.name]?.sha256 === hashOfTool(descriptor);

/** Qualified names of tools that differ from the lock. */
export interface LockComparison {
  /** Changed since they were accepted. */
  drifted: string[];
  /** Never accepted. */
  unknown: string[];
  /** Accepted, but no longer offered. */
  missing: string[];
}

/** Compares the offered tools with the lock. */
export function compareWithLock(descriptors: readonly ToolDescriptor[], lock: ToolLock): LockComparison {
  const notAccepted = descriptors
    .filter((descriptor) => !isAccepted(descriptor, lock))
    .map(({ name }) => name);
  const offered = new Set(descriptors.map(({ name }) => name));
  return {
    drifted: notAccepted.filter((name) => Object.hasOwn(lock.tools, name)),
    unknown: notAccepted.filter((name) => !Object.hasOwn(lock.tools, name)),
    missing: Object.keys(lock.tools).filter((name) => !offered.has(name)),
  };
}

/** A lock and how strictly it applies. */
export interface ToolLocking {
  lock: ToolLock;
  /** True: a tool that is not accepted is neither listed nor callable. */
  enforce: boolean;
}

/** One diagnostic for each difference between these tools and the lock. */
export function lockDiagnosticsOf(
  tools: readonly CollectedTool[],
  { lock, enforce }: ToolLocking,
): Diagnostic[] {
  const { drifted, unknown, missing } = compareWithLock(tools.map(descriptorOf), lock);
  const owners = new Map(tools.map(({ qualifiedName, pluginName }) => [qualifiedName, pluginName]));
  const outcome = enforce ? 'and is withheld until you accept it' : 'review and accept it';
  const notAccepted = (name: string, what: string): Diagnostic => ({
    source: owners.get(name) ?? source,
    level: enforce ? 'error' : 'warning',
    message: `${name} ${what} the tool lock, ${outcome}: npm run tools:lock`,
  });
  return [
    ...drifted.map((name) => notAccepted(name, 'differs from its entry in')),
    ...unknown.map((name) => notAccepted(name, 'is not in')),
    ...missing.map(
      (name): Diagnostic => ({
        source,
        level: 'warning',
        message: `${name} is in the tool lock, but no plugin offers it`,
      }),
    ),
  ];
}

const source = 'tool lock';
