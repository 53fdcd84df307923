import type { PluginDefinition } from '@harness/plugin-kit';
import { bus } from './bus/bus.ts';
import { context } from './context/context.ts';
import { delegation } from './delegation/delegation.ts';
import { skillPluginOf } from './skills/skill-plugin.ts';
import { time } from './time/time.ts';
import { validation } from './validation/validation.ts';

/** The built-in plugins, in the order in which they run. */
export const builtInPlugins: readonly PluginDefinition[] = [
  delegation,
  validation,
  time,
  context,
  bus,
  skillPluginOf([]), // followSkills replaces it by one with the skills of HARNESS_SKILLS_DIR
];
