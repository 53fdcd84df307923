/**
 * The tool lock: hashes of the descriptions of tools, prompts, resources and commands that a person has accepted. Agents and
 * people follow descriptions, so a part whose description has changed, by an update or an attack, must be accepted again.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PluginDefinition } from '../contract/contract.ts';
import { collectTools, qualifiedNameOf } from '../host/collect.ts';
import type { Diagnostic } from '../load/loader.ts';
import { canonicalJson } from './canonical-json.ts';
import { descriptorOf, type ToolDescriptor } from './tool-descriptor.ts';

/**
 * `version` is the plugin's version when the part was accepted; it is for people only. The parts of upstreams, which change without
 * a release of this gateway, also have the name of their plugin and what was accepted, so that a difference can be shown.
 */
const Entries = z.record(
  z.string(),
  z.object({
    version: z.string().optional(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    upstream: z.string().optional(),
    seen: z.record(z.string(), z.unknown()).optional(),
  }),
);
const ToolLockFile = z.object({
  /** By qualified name. */
  tools: Entries,
  /** By qualified name. Absent in files of earlier releases: then prompts are not locked. The same holds for the fields below. */
  prompts: Entries.optional(),
  /** By URI, or URI template. */
  resources: Entries.optional(),
  /** By the name of the plugin. */
  instructions: Entries.optional(),
  /** By name. */
  commands: Entries.optional(),
});
/** The content of a lock file. */
export type ToolLock = z.infer<typeof ToolLockFile>;

/** The kinds of what is locked. */
export const lockKinds = ['tools', 'prompts', 'resources', 'instructions', 'commands'] as const;
type LockKind = (typeof lockKinds)[number];

/** Something that a plugin offers. */
export interface LockedPart {
  kind: LockKind;
  /** Its name in the lock. */
  name: string;
  pluginName: string;
  version: string;
  /** Everything that a client sees of it, and its hash. */
  seen: Record<string, unknown>;
  sha256: string;
  /** The part of the plugin's definition; instructions as `{instructions}`. */
  part: object;
}

/** Parses a lock file. Throws an Error with every problem of the text. */
export function parseToolLock(text: string): ToolLock {
  const parsed = ToolLockFile.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}

/** Everything of these plugins that a lock covers. */
export const lockedPartsOf = (plugins: readonly PluginDefinition[]): LockedPart[] => plugins.flatMap(partsOf);

function partsOf(plugin: PluginDefinition): LockedPart[] {
  const { tools = [], prompts = [], resources = [], resourceTemplates = [], commands = [] } = plugin;
  const { name: pluginName, instructions } = plugin;
  const of = (
    kind: LockKind,
    part: object,
    { name, seen }: { name: string; seen: Record<string, unknown> },
  ): LockedPart => ({
    kind,
    name,
    pluginName: plugin.name,
    version: plugin.version,
    seen,
    sha256: hashOf(seen),
    part,
  });
  const collected = collectTools([plugin]);
  return [
    ...tools.map((tool, at) => {
      const descriptor = descriptorOf(collected[at] as (typeof collected)[number]);
      return of('tools', tool, { name: descriptor.name, seen: seenOfTool(descriptor) });
    }),
    ...prompts.map((prompt) => {
      const { title, description, arguments: args = [], extra } = prompt;
      const name = qualifiedNameOf(plugin, prompt.name);
      const shown = args.map(({ complete: _, ...argument }) => argument);
      return of('prompts', prompt, { name, seen: { name, title, description, arguments: shown, ...extra } });
    }),
    ...resources.map((resource) => {
      const { uri, name, title, description, mimeType, extra } = resource;
      return of('resources', resource, {
        name: uri,
        seen: { uri, name, title, description, mimeType, ...lastingOf(extra) },
      });
    }),
    ...resourceTemplates.map((template) => {
      const { uriTemplate, name, title, description, mimeType, extra } = template;
      const seen = { uriTemplate, name, title, description, mimeType, ...lastingOf(extra) };
      return of('resources', template, { name: uriTemplate, seen });
    }),
    ...(instructions === undefined
      ? []
      : [of('instructions', { instructions }, { name: pluginName, seen: { instructions } })]),
    ...commands.map((command) => {
      const { name, description, argumentHint } = command;
      return of('commands', command, { name, seen: { name, description, argumentHint } });
    }),
  ];
}

/** Makes a lock that accepts these plugins, and upstreams, as they are now. */
export function lockOf(
  plugins: readonly PluginDefinition[],
  upstreams: readonly PluginDefinition[] = [],
): Record<LockKind, ToolLock['tools']> {
  const isUpstream = new Set(upstreams.map(({ name }) => name));
  const parts = lockedPartsOf([...plugins, ...upstreams]).sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  const entriesOf = (wanted: LockKind) =>
    Object.fromEntries(
      parts
        .filter(({ kind }) => kind === wanted)
        .map(({ name, version, sha256, pluginName, seen }) => [
          name,
          {
            ...(version !== undefined && { version }),
            sha256,
            ...(isUpstream.has(pluginName) && {
              upstream: pluginName,
              seen: JSON.parse(JSON.stringify(seen)),
            }),
          },
        ]),
    );
  return {
    tools: entriesOf('tools'),
    prompts: entriesOf('prompts'),
    resources: entriesOf('resources'),
    instructions: entriesOf('instructions'),
    commands: entriesOf('commands'),
  };
}

/** Everything of a tool that a model or a client follows: also its `_meta`, icons and whatever else it says. */
const seenOfTool = (descriptor: ToolDescriptor): Record<string, unknown> => ({ ...descriptor });

/** What a resource says besides, without what changes with its content. */
function lastingOf({ size: _, annotations: __, ...lasting }: Readonly<Record<string, unknown>> = {}) {
  return lasting;
}

/** SHA-256, in hex, of everything that a client sees of the tool. */
export const hashOfTool = (descriptor: ToolDescriptor): string => hashOf(seenOfTool(descriptor));

const hashOf = (seen: object): string => createHash('sha256').update(canonicalJson(seen)).digest('hex');

/** Whether the lock has this part with the same hash, or does not cover its kind. */
export function isAccepted({ kind, name, sha256 }: LockedPart, lock: ToolLock): boolean {
  const entries = lock[kind];
  return entries === undefined || (Object.hasOwn(entries, name) && entries[name]?.sha256 === sha256);
}

/** The plugin without the parts that are not accepted. */
export function acceptedOf(plugin: PluginDefinition, lock: ToolLock): PluginDefinition {
  const refused = partsOf(plugin).filter((part) => !isAccepted(part, lock));
  if (refused.length === 0) return plugin;
  const withheld = new Set(refused.map(({ part }) => part));
  const kept = <Part extends object>(parts: readonly Part[] | undefined) =>
    parts?.filter((part) => !withheld.has(part));
  const { tools, prompts, resources, resourceTemplates, commands, instructions, ...rest } = plugin;
  const keepsInstructions = !refused.some(({ kind }) => kind === 'instructions');
  return {
    ...rest,
    ...(instructions !== undefined && keepsInstructions && { instructions }),
    ...(tools && { tools: kept(tools) ?? [] }),
    ...(prompts && { prompts: kept(prompts) ?? [] }),
    ...(resources && { resources: kept(resources) ?? [] }),
    ...(resourceTemplates && { resourceTemplates: kept(resourceTemplates) ?? [] }),
    ...(commands && { commands: kept(commands) ?? [] }),
  };
}

/** What differs from the lock. */
export interface LockComparison {
  /** Changed since they were accepted. */
  drifted: LockedPart[];
  /** Never accepted. */
  unknown: LockedPart[];
  /** Accepted, but no longer offered. */
  missing: { kind: LockKind; name: string }[];
}

/** Compares what is offered with the lock. */
export function compareWithLock(parts: readonly LockedPart[], lock: ToolLock): LockComparison {
  const notAccepted = parts.filter((part) => !isAccepted(part, lock));
  const isKnown = ({ kind, name }: LockedPart) => Object.hasOwn(lock[kind] ?? {}, name);
  const offered = new Set(parts.map(({ kind, name }) => `${kind} ${name}`));
  return {
    drifted: notAccepted.filter(isKnown),
    unknown: notAccepted.filter((part) => !isKnown(part)),
    missing: lockKinds.flatMap((kind) =>
      Object.entries(lock[kind] ?? {})
        // An upstream is compared by itself, when it is connected.
        .filter(([name, { upstream }]) => upstream === undefined && !offered.has(`${kind} ${name}`))
        .map(([name]) => name)
        .map((name) => ({ kind, name })),
    ),
  };
}

/** A lock and how strictly it applies. */
export interface ToolLocking {
  lock: ToolLock;
  /** True: what is not accepted is neither listed nor usable. */
  enforce: boolean;
}

/** One diagnostic for each difference between these plugins and the lock. */
export function lockDiagnosticsOf(
  plugins: readonly PluginDefinition[],
  { lock, enforce }: ToolLocking,
): Diagnostic[] {
  const { drifted, unknown, missing } = compareWithLock(lockedPartsOf(plugins), lock);
  const outcome = enforce ? 'and is withheld until you accept it' : 'review and accept it';
  const notAccepted = (part: LockedPart, what: string): Diagnostic => ({
    source: part.pluginName,
    level: enforce ? 'error' : 'warning',
    message: `${labelOf(part)} ${what} the tool lock, ${outcome}: npm run tools:lock`,
  });
  return [
    ...drifted.map((part) => notAccepted(part, 'differs from its entry in')),
    ...unknown.map((part) => notAccepted(part, 'is not in')),
    ...missing.map(
      (part): Diagnostic => ({
        source,
        level: 'warning',
        message: `${labelOf(part)} is in the tool lock, but no plugin offers it`,
      }),
    ),
  ];
}

const source = 'tool lock';
const labels = {
  tools: '',
  prompts: 'prompt ',
  resources: 'resource ',
  instructions: 'instructions of ',
  commands: 'command /',
};
/** A part for people: `weather__forecast`, `prompt weather__plan`, `command /weather`. */
export const labelOf = ({ kind, name }: { kind: LockKind; name: string }): string => `${labels[kind]}${name}`;
