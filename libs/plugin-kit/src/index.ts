/**
 * The public entry of plugin-kit: what a plugin author writes against (`definePlugin`, `defineTool`, the contract
 * types) and the host that loads, validates, starts and calls plugins.
 *
 * - `contract/` the types of a plugin and of its context; `definePlugin`, `defineTool`
 * - `load/`     imports and validates what a module exports
 * - `schema/`   JSON Schema 2020-12 validation, with bounds on its cost
 * - `tools/`    the tool server: listing, validation, calls, time limits, results, the tool lock
 * - `host/`     registers and starts plugins; hooks, commands, resources, prompts
 * - `text-of.ts` the message of any thrown value
 */

export type * from './contract/contract.ts';
export { defineCommand, definePlugin, defineTool, type ZodTool } from './contract/define.ts';
export { type CollectedTool, collectTools } from './host/collect.ts';
export {
  type Command,
  type CommandRegistry,
  type CommandResult,
  commandNameIn,
  createCommandRegistry,
} from './host/commands.ts';
export { createDetachedContext, silentLogger } from './host/detached-context.ts';
export type { HookRunner } from './host/hooks.ts';
export { hookNames, type PluginHost, type PluginHostDeps, startPluginHost } from './host/host.ts';
export { type DisabledPlugins, isFor } from './host/offer.ts';
export type {
  Completion,
  PluginInstructions,
  PromptDescriptor,
  ResourceDescriptor,
  ServedCatalog,
  TemplateDescriptor,
} from './host/served.ts';
export { invisibleIn, withoutInvisible } from './load/invisible-text.ts';
export { type Diagnostic, loadPlugins, type PluginSources, specifierOf } from './load/loader.ts';
export { offerOwnPackages } from './load/own-packages.ts';
export { exportOf, type PluginValidation, validatePluginExport } from './load/validate.ts';
export { createLinearPattern } from './schema/linear-pattern.ts';
export { type ProofLimits, proveSchemas } from './schema/prove-schemas.ts';
export {
  inputError,
  maxErrors,
  readableErrors,
  type SchemaError,
  schemaErrorOf,
} from './schema/readable-errors.ts';
export { createSchemaCompiler, type SchemaCheck, type SchemaCompiler } from './schema/schema.ts';
export { boundResult, defaultResultLimits, type ResultLimits } from './tools/bound-result.ts';
export { isInputRequired, needInput } from './tools/input-required.ts';
export type { ToolMiddleware } from './tools/middleware.ts';
export type { Given } from './tools/request-meta.ts';
export type { ToolCallMeta, ToolOutcome } from './tools/run-tool.ts';
export { withTimeLimit } from './tools/time-limit.ts';
export type { ToolDescriptor } from './tools/tool-descriptor.ts';
export type { ToolView } from './tools/tool-entry.ts';
export {
  compareWithLock,
  isAccepted,
  type LockComparison,
  type LockedPart,
  labelOf,
  lockDiagnosticsOf,
  lockedPartsOf,
  lockKinds,
  lockOf,
  parseToolLock,
  type ToolLock,
  type ToolLocking,
} from './tools/tool-lock.ts';
export { failedResultOf, parseToolResult } from './tools/tool-result.ts';
export {
  createToolServer,
  type ToolServer,
  type ToolServerDeps,
} from './tools/tool-server.ts';
