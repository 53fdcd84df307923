/**
 * The built-in plugins, and the start of all plugins in a process of the fleet.
 *
 * - `start-plugins.ts`         loads and starts the plugins of a process
 * - `built-in.ts`              the ordered list of built-in plugins
 * - `plugin-context.ts`        the context of a plugin, on top of dispatch
 * - `check-context-input.ts`   checks what a plugin passes to its context
 * - `inner-calls.ts`           bounds the calls of a plugin to other tools
 * - `follow-up.ts`             how callers learn how a task ends
 * - `plugin-logger.ts`         a logger that accepts fields before or after the message
 * - `follow-plugin-states.ts`  applies which plugins are disabled
 * - `plugin-tenants.ts`        plugins of named tenants only
 * - `scrub-errors.ts`          secrets in results of tools that failed
 * - `isolation/`               plugins in separate processes
 * - `skills/`                  skills and agents: reading, watching, the plugin `skill`
 * - `bus/` `context/` `delegation/` `time/` `validation/`  one built-in plugin each
 */

export { builtInPlugins, builtInPluginsWith } from './built-in.ts';
export { bus as busPlugin, busPluginName } from './bus/bus.ts';
export type { TaskFiles, VersionFile } from './delegation/task-files.ts';
export { followPluginStates } from './follow-plugin-states.ts';
export { envIsolation, isolationOf } from './isolation/env-isolation.ts';
export type { IsolationSettings, PluginProcessStatus } from './isolation/isolation.ts';
export type { OuterCall } from './plugin-context.ts';
export { streamUrlOf } from './plugin-context.ts';
export { envPluginTenants, pluginTenantsOf } from './plugin-tenants.ts';
export type { Agent } from './skills/agent.ts';
export { type EmbeddedCommand, withArguments } from './skills/content/embedded-commands.ts';
export { loadAgents } from './skills/content/load-agents.ts';
export { loadSkills } from './skills/content/load-skills.ts';
export { type AgentSet, followAgents } from './skills/follow-agents.ts';
export { followSkills, type SkillSet, type WorkProfiles } from './skills/follow-skills.ts';
export type { Skill } from './skills/skill.ts';
export { argumentsIn, skillPluginName, uriOf as skillUriOf } from './skills/skill-plugin.ts';
export { type PluginStart, type StartedPlugins, startPlugins } from './start-plugins.ts';
