import type { PluginDefinition } from '@harness/plugin-kit';
import { bus } from './bus/bus.ts';
import { context } from './context/context.ts';
import { delegation, delegationWith } from './delegation/delegation.ts';
import type { TaskFiles } from './delegation/task-files.ts';
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

/** The same, where threads may have files. */
export const builtInPluginsWith = (files: TaskFiles): readonly PluginDefinition[] =>
  builtInPlugins.map((plugin) => (plugin === delegation ? delegationWith(files) : plugin));
