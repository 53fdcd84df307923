/** The plugins that come with harness, and how plugins are started in a process of the fleet. */

export { builtInPlugins } from './built-in.ts';
export { bus as busPlugin, busPluginName } from './bus/bus.ts';
export { followPluginStates } from './follow-plugin-states.ts';
export { envIsolation, isolationOf } from './isolation/env-isolation.ts';
export type { IsolationSettings, PluginProcessStatus } from './isolation/isolation.ts';
export type { OuterCall } from './plugin-context.ts';
export { streamUrlOf } from './plugin-context.ts';
export type { Agent } from './skills/agent.ts';
export { type AgentSet, followAgents } from './skills/follow-agents.ts';
export { followSkills, type SkillSet, type WorkProfiles } from './skills/follow-skills.ts';
export type { Skill } from './skills/skill.ts';
export { skillPluginName, uriOf as skillUriOf } from './skills/skill-plugin.ts';
export { type PluginStart, type StartedPlugins, startPlugins } from './start-plugins.ts';
