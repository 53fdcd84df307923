/**
 * What a plugin author sees (`definePlugin`, `defineTool` and the types of contract.ts) and the host that runs
 * plugins: load -> validate -> register and start -> hooks and the tool server.
 */
export { boundResult, defaultResultLimits, type ResultLimits } from './bound-result.ts';
export { type CollectedTool, collectTools } from './collect.ts';
export {
  type Command,
  type CommandRegistry,
  type CommandResult,
  createCommandRegistry,
} from './commands.ts';
export type * from './contract.ts';
export { definePlugin, defineTool, type ZodTool } from './define.ts';
export { createDetachedContext, silentLogger } from './detached-context.ts';
export type { HookRunner } from './hooks.ts';
export { hookNames, type PluginHost, type PluginHostDeps, startPluginHost } from './host.ts';
export { isInputRequired, needInput } from './input-required.ts';
export { invisibleIn } from './invisible-text.ts';
export { type Diagnostic, loadPlugins, type PluginSources, specifierOf } from './loader.ts';
export type { ToolMiddleware } from './middleware.ts';
export { offerOwnPackages } from './own-packages.ts';
export { type ProofLimits, proveSchemas } from './prove-schemas.ts';
export { maxErrors, readableErrors, type SchemaError, schemaErrorOf } from './readable-errors.ts';
export type { Given } from './request-meta.ts';
export type { ToolCallMeta, ToolOutcome } from './run-tool.ts';
export { createSchemaCompiler, type SchemaCheck, type SchemaCompiler } from './schema.ts';
export type {
  Completion,
  PromptDescriptor,
  ResourceDescriptor,
  ServedCatalog,
  TemplateDescriptor,
} from './served.ts';
export { withTimeLimit } from './time-limit.ts';
export type { ToolDescriptor } from './tool-descriptor.ts';
export {
  compareWithLock,
  isAccepted,
  type LockComparison,
  lockDiagnosticsOf,
  lockOf,
  parseToolLock,
  type ToolLock,
  type ToolLocking,
} from './tool-lock.ts';
export { parseToolResult } from './tool-result.ts';
export {
  createToolServer,
  type ToolServer,
  type ToolServerDeps,
  type ToolView,
} from './tool-server.ts';
export { exportOf, type PluginValidation, validatePluginExport } from './validate.ts';
