/** What a plugin offers to MCP clients besides tools: resources and prompts. */
import type { MaybePromise } from './contract.ts';
import type { PluginContext } from './contract-context.ts';
import type { ContentBlock, EmbeddedResource, InputRequired, PluginRequestMeta } from './contract-request.ts';

export interface PluginResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** A string is short for one text. Runs in the gateway. */
  read(ctx: PluginContext, meta: PluginRequestMeta): MaybePromise<ReadReturn>;
}

export interface PluginResourceTemplate {
  /** RFC 6570, simple expansion: `notes://{folder}/{name}`. */
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  read(
    ctx: PluginContext,
    uri: string,
    variables: Readonly<Record<string, string>>,
    meta: PluginRequestMeta,
  ): MaybePromise<ReadReturn>;
  /** Suggestions for a variable, by name. */
  complete?: Readonly<Record<string, Completer>>;
}

export type ReadReturn = string | EmbeddedResource[] | InputRequired;

/** What a user may be typing; `others` = what is chosen already. */
export type Completer = (value: string, others: Readonly<Record<string, string>>) => MaybePromise<string[]>;

export interface PluginPrompt {
  /** As a tool's name; clients see `<plugin>__<name>`. */
  name: string;
  title?: string;
  description?: string;
  arguments?: readonly PromptArgument[];
  /** A string is short for one message of the user. Runs in the gateway. */
  get(
    ctx: PluginContext,
    args: Readonly<Record<string, string>>,
    meta: PluginRequestMeta,
  ): MaybePromise<string | PromptMessage[] | InputRequired>;
}

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
  complete?: Completer;
}

export interface PromptMessage {
  role: 'user' | 'assistant';
  content: ContentBlock;
}
