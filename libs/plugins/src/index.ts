/** The plugins that come with harness, in the order in which they run, and how the fleet looks to a plugin. */
import type { PluginDefinition } from '@harness/plugin-kit';
import { context } from './context/context.ts';
import { delegation } from './delegation/delegation.ts';
import { time } from './time/time.ts';
import { validation } from './validation/validation.ts';

export const builtInPlugins: readonly PluginDefinition[] = [delegation, validation, time, context];

export { type ContextDeps, createPluginContext, streamUrlOf } from './plugin-context.ts';
