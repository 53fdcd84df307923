import type { CollectedTool } from '../host/collect.ts';
import type { SchemaCheck } from '../schema/schema.ts';
import type { ToolDescriptor } from './tool-descriptor.ts';

/** What one caller may see and call. An absent field restricts nothing. */
export interface ToolView {
  /** Qualified names; `weather__*` = all names that begin with `weather__`. */
  tools?: readonly string[] | undefined;
  /** Scopes of the caller's key. A tool with a scope is visible only if the key has it. */
  scopes?: readonly string[] | undefined;
  /** Whether the caller is the session of a thread. */
  isSession?: boolean | undefined;
  /** The caller's tenant. */
  tenant?: string | undefined;
}

/** A tool with its descriptor and compiled schemas. */
export interface Entry {
  tool: CollectedTool;
  descriptor: ToolDescriptor;
  checkInput: SchemaCheck;
  checkOutput: SchemaCheck | undefined;
}
