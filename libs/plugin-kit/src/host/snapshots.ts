import type { PluginContext, PluginDefinition, PluginLogger } from '../contract/contract.ts';
import { canonicalJson } from '../tools/canonical-json.ts';
import type { ToolMiddleware } from '../tools/middleware.ts';
import { acceptedOf, type ToolLocking } from '../tools/tool-lock.ts';
import { createToolServer, type ToolServer } from '../tools/tool-server.ts';
import { type CollectedTool, collectTools } from './collect.ts';
import { collectCommands } from './collect-commands.ts';
import type { Command } from './commands.ts';
import { createOffer, type DisabledPlugins, type Offer, offeredTo } from './offer.ts';
import { createServedCatalog, type ServedCatalog } from './served.ts';

/** What the enabled plugins offer at one time. */
export interface Snapshot {
  readonly disabled: DisabledPlugins;
  readonly offer: Offer;
  readonly tools: readonly CollectedTool[];
  /** Null when no enabled plugin has a tool. */
  readonly toolServer: ToolServer | null;
  /** Resources and prompts that a tenant is offered. */
  servedFor(tenant: string): ServedCatalog;
  readonly commands: readonly Command[];
}

/** Of a plugin that is added: who is given it, and where it is in lists. */
export interface Placing {
  /** The only tenants that are given it. Default: all. */
  tenants?: readonly string[] | undefined;
  /** Lower ones are listed first. Default: 0. */
  rank?: number | undefined;
}

/** By rank, then by name: every gateway has the same order, whichever plugin was added first. */
export const inRank = <Part extends { rank?: number | undefined }>(
  added: ReadonlyMap<string, Part>,
): Part[] =>
  [...added]
    .sort(
      ([one, { rank = 0 }], [other, { rank: otherRank = 0 }]) => rank - otherRank || (one < other ? -1 : 1),
    )
    .map(([, part]) => part);

/** What the running plugins offer. Each change makes a new snapshot. */
export interface Snapshots {
  current(): Snapshot;
  /** Disables exactly these plugins. Returns true if this changed anything. */
  disable(disabled: DisabledPlugins): boolean;
  /**
   * Replaces what the running plugin with this name offers. Throws, and changes nothing, if no such plugin runs
   * or the tool server rejects the tools.
   */
  replace(plugin: PluginDefinition): void;
  /** Adds or replaces a plugin. Throws, and changes nothing, like `replace`. */
  add(plugin: PluginDefinition, placing: Placing): void;
  remove(pluginName: string): void;
  tenantsOf(pluginName: string): readonly string[] | undefined;
}

/** Creates the snapshots of these running plugins, all enabled. */
export function createSnapshots(
  plugins: readonly PluginDefinition[],
  deps: {
    contextOf(pluginName: string): PluginContext;
    logger: PluginLogger;
    /** For tools without `timeoutMs`. */
    toolTimeoutMs: number;
    toolLock: ToolLocking | undefined;
    middleware: readonly ToolMiddleware[];
    /** The only tenants that are given a plugin; undefined = all. */
    tenantsOf: ((pluginName: string) => readonly string[] | undefined) | undefined;
  },
): Snapshots {
  const { contextOf, logger, toolLock, middleware } = deps;
  const accepted = (plugin: PluginDefinition) =>
    toolLock?.enforce ? acceptedOf(plugin, toolLock.lock) : plugin;
  /** The tool lock does not cover a replaced plugin: skills come from the operator's own folder. */
  const offered = new Map(plugins.map((plugin) => [plugin.name, accepted(plugin)]));
  let added = new Map<string, Placing & { plugin: PluginDefinition }>();
  const tenantsOf = (name: string): readonly string[] | undefined => {
    const configured = deps.tenantsOf?.(name);
    const own = added.get(name)?.tenants;
    return own && configured ? own.filter((tenant) => configured.includes(tenant)) : (own ?? configured);
  };
  const collected = new WeakMap<PluginDefinition, CollectedTool[]>();
  /** Cached by plugin object: the tool server keeps what it compiled for the same tool object. */
  const toolsOf = (plugin: PluginDefinition): CollectedTool[] => {
    const tools = collected.get(plugin) ?? collectTools([plugin]);
    collected.set(plugin, tools);
    return tools;
  };
  const snapshotWithout = (disabled: DisabledPlugins): Snapshot => {
    const all = [...offered.values(), ...inRank(added).map(({ plugin }) => plugin)];
    const offer = createOffer(disabled, { plugins: all, tenantsOf });
    const enabled = all.filter(({ name }) => offer.isOffered(name));
    const tools = enabled.flatMap(toolsOf);
    const options = { contextOf, logger, defaultTimeoutMs: deps.toolTimeoutMs, middleware, offer };
    return {
      disabled,
      offer,
      tools,
      toolServer: createToolServer(tools, options),
      servedFor: servedByTenant(enabled, { contextOf, offer }),
      commands: collectCommands(enabled, { contextOf, offer }),
    };
  };
  let snapshot = snapshotWithout({ all: [], tenants: {} });
  const change = (next: typeof added) => {
    const before = added;
    added = next;
    try {
      snapshot = snapshotWithout(snapshot.disabled);
    } catch (error) {
      added = before;
      throw error;
    }
  };

  return {
    current: () => snapshot,
    disable(disabled) {
      const same = canonicalJson(disabled) === canonicalJson(snapshot.disabled);
      if (!same) snapshot = snapshotWithout(disabled);
      return !same;
    },
    replace(plugin) {
      const before = offered.get(plugin.name);
      if (!before) throw new Error(`There is no plugin "${plugin.name}".`);
      offered.set(plugin.name, plugin);
      try {
        snapshot = snapshotWithout(snapshot.disabled);
      } catch (error) {
        offered.set(plugin.name, before);
        throw error;
      }
    },
    add: (plugin, placing) =>
      change(new Map(added).set(plugin.name, { ...placing, plugin: accepted(plugin) })),
    tenantsOf,
    remove(pluginName) {
      const rest = new Map(added);
      if (rest.delete(pluginName)) change(rest);
    },
  };
}

/** Most tenants whose catalogs are kept. */
const maxCatalogs = 1_000;

/** The catalog of each tenant: one for all, unless they are offered different things. */
function servedByTenant(
  enabled: readonly PluginDefinition[],
  { contextOf, offer }: { contextOf: (pluginName: string) => PluginContext; offer: Offer },
): (tenant: string) => ServedCatalog {
  const common = createServedCatalog(enabled, contextOf);
  const catalogs = new Map<string, ServedCatalog>();
  return (tenant) => {
    if (!offer.differs) return common;
    const known = catalogs.get(tenant);
    if (known) return known;
    const catalog = createServedCatalog(offeredTo(enabled, offer, tenant), contextOf);
    if (catalogs.size >= maxCatalogs) catalogs.clear();
    catalogs.set(tenant, catalog);
    return catalog;
  };
}
