/**
 * What a plugin author sees (`definePlugin`, `defineTool` and the types of contract.ts) and the host that runs
 * plugins: load -> validate -> register and start -> hooks and the tool server.
 */

export type * from './contract/contract.ts';
export { definePlugin, defineTool, type ZodTool } from './contract/define.ts';
export { type CollectedTool, collectTools } from './host/collect.ts';
export {
  type Command,
  type CommandRegistry,
  type CommandResult,
  createCommandRegistry,
} from './host/commands.ts';
export { createDetachedContext, silentLogger } from './host/detached-context.ts';
export type { HookRunner } from './host/hooks.ts';
export { hookNames, type PluginHost, type PluginHostDeps, startPluginHost } from './host/host.ts';
export type {
  Completion,
  PromptDescriptor,
  ResourceDescriptor,
  ServedCatalog,
  TemplateDescriptor,
} from './host/served.ts';
export { invisibleIn } from './load/invisible-text.ts';
export { type Diagnostic, loadPlugins, type PluginSources, specifierOf } from './load/loader.ts';
export { offerOwnPackages } from './load/own-packages.ts';
export { exportOf, type PluginValidation, validatePluginExport } from './load/validate.ts';
export { type ProofLimits, proveSchemas } from './schema/prove-schemas.ts';
export { maxErrors, readableErrors, type SchemaError, schemaErrorOf } from './schema/readable-errors.ts';
export { createSchemaCompiler, type SchemaCheck, type SchemaCompiler } from './schema/schema.ts';
export { boundResult, defaultResultLimits, type ResultLimits } from './tools/bound-result.ts';
export { isInputRequired, needInput } from './tools/input-required.ts';
export type { ToolMiddleware } from './tools/middleware.ts';
export type { Given } from './tools/request-meta.ts';
export type { ToolCallMeta, ToolOutcome } from './tools/run-tool.ts';
export { withTimeLimit } from './tools/time-limit.ts';
export type { ToolDescriptor } from './tools/tool-descriptor.ts';
export {
  compareWithLock,
  isAccepted,
  type LockComparison,
  lockDiagnosticsOf,
  lockOf,
  parseToolLock,
  type ToolLock,
  type ToolLocking,
} from './tools/tool-lock.ts';
export { parseToolResult } from './tools/tool-result.ts';
export {
  createToolServer,
  type ToolServer,
  type ToolServerDeps,
  type ToolView,
} from './tools/tool-server.ts';
