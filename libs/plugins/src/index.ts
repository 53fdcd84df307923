/** The plugins that come with harness, and how plugins are started in a process of the fleet. */

export { builtInPlugins } from './built-in.ts';
export { busPluginName } from './bus/bus.ts';
export { followPluginStates } from './follow-plugin-states.ts';
export type { OuterCall } from './plugin-context.ts';
export { streamUrlOf } from './plugin-context.ts';
export { followSkills, noSkills, type SkillSet } from './skills/follow-skills.ts';
export type { Skill } from './skills/skill.ts';
export { uriOf as skillUriOf } from './skills/skill-plugin.ts';
export { type PluginStart, startPlugins } from './start-plugins.ts';
