import type { PluginDefinition } from '@harness/plugin-kit';
import { bus } from './bus/bus.ts';
import { context } from './context/context.ts';
import { delegation } from './delegation/delegation.ts';
import { skillPluginOf } from './skills/skill-plugin.ts';
import { time } from './time/time.ts';
import { validation } from './validation/validation.ts';

/** In the order in which they run. */
export const builtInPlugins: readonly PluginDefinition[] = [
  delegation,
  validation,
  time,
  context,
  bus,
  skillPluginOf([]), // its tools come from HARNESS_SKILLS_DIR
];
