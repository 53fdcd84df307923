/** What a plugin offers to MCP clients besides tools: resources, resource templates and prompts. */
import type { PluginContext } from './contract-context.ts';
import type { ContentBlock, EmbeddedResource, InputRequired, PluginRequestMeta } from './contract-request.ts';
import type { MaybePromise } from './contract-values.ts';

/**
 * A resource with a fixed URI.
 *
 * @example
 * ```ts
 * const about: PluginResource = {
 *   uri: 'weather://about',
 *   name: 'About',
 *   mimeType: 'text/plain',
 *   read: () => 'Forecasts are updated every hour.',
 * };
 * ```
 */
export interface PluginResource {
  /** An absolute URI. */
  uri: string;
  /** The only tenants that see the resource in lists. Default: all. */
  tenants?: readonly string[];
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Further fields of the resource for MCP clients, such as `size` and `annotations`. */
  extra?: Readonly<Record<string, unknown>>;
  /** Runs in the gateway, for at most 60 s. */
  read(ctx: PluginContext, meta: PluginRequestMeta): MaybePromise<ReadReturn>;
  /** Called when a client subscribes to the resource, for a plugin that must itself subscribe to another server. */
  onSubscribe?(ctx: PluginContext, uri: string): MaybePromise<void>;
}

/**
 * A family of resources whose URIs match a template.
 *
 * @example
 * ```ts
 * const city: PluginResourceTemplate = {
 *   uriTemplate: 'weather://city/{name}',
 *   name: 'Forecast',
 *   read: (_ctx, _uri, { name }) => `${name}: sunny`,
 *   complete: { name: (value) => ['Berlin', 'Bern'].filter((city) => city.startsWith(value)) },
 * };
 * ```
 */
export interface PluginResourceTemplate {
  /** The part of RFC 6570 with `{name}` (anything but `/`) and `{+name}` (also `/`), e.g. `notes://{folder}/{+path}`. */
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Further fields of the template for MCP clients. */
  extra?: Readonly<Record<string, unknown>>;
  /** Whether a URI is one of this family; default: as `uriTemplate` says. For templates with other expressions of RFC 6570. */
  matches?(uri: string): boolean;
  /** The template of a server that others run: those of plugins go before it. */
  isForwarded?: true;
  /** As of a resource. */
  onSubscribe?(ctx: PluginContext, uri: string): MaybePromise<void>;
  /** Runs in the gateway, for at most 60 s. `variables` are decoded. */
  read(
    ctx: PluginContext,
    uri: string,
    variables: Readonly<Record<string, string>>,
    meta: PluginRequestMeta,
  ): MaybePromise<ReadReturn>;
  /** Completers of the variables, by name. */
  complete?: Readonly<Record<string, Completer>>;
}

/**
 * What `read` returns. A string is short for one text content with the resource's URI and MIME type. At most 10 MiB as
 * JSON.
 *
 * @example
 * ```ts
 * const contents: ReadReturn = [{ uri: 'weather://map', mimeType: 'image/png', blob: 'iVBORw0KGgo=' }];
 * ```
 */
export type ReadReturn = string | EmbeddedResource[] | InputRequired;

/**
 * Suggests values that begin with what the user has typed. `others`: the arguments that are chosen already.
 *
 * @example
 * ```ts
 * const city: Completer = (value) => ['Berlin', 'Bern'].filter((name) => name.startsWith(value));
 * ```
 */
export type Completer = (
  value: string,
  others: Readonly<Record<string, string>>,
) => MaybePromise<string[] | CompletionValues>;

/**
 * Some of the values that fit; `total` of them exist, where that is known.
 *
 * @example
 * ```ts
 * const found: CompletionValues = { values: ['Berlin', 'Bern'], total: 40, hasMore: true };
 * ```
 */
export interface CompletionValues {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

/**
 * A prompt that a client offers to its user.
 *
 * @example
 * ```ts
 * const plan: PluginPrompt = {
 *   name: 'plan-day',
 *   arguments: [{ name: 'city', required: true }],
 *   get: (_ctx, { city }) => `Plan a day in ${city}, depending on the weather.`,
 * };
 * ```
 */
export interface PluginPrompt {
  /** Same rules as for a tool's name; clients see `<plugin>__<name>`. */
  name: string;
  title?: string;
  description?: string;
  arguments?: readonly PromptArgument[];
  /** Further fields of the prompt for MCP clients. */
  extra?: Readonly<Record<string, unknown>>;
  /** Runs in the gateway, for at most 60 s. A string is short for one message of the user. At most 10 MiB as JSON. */
  get(
    ctx: PluginContext,
    args: Readonly<Record<string, string>>,
    meta: PluginRequestMeta,
  ): MaybePromise<string | PromptMessage[] | PromptResult | InputRequired>;
}

/**
 * The messages of a prompt, with a description of this use of it.
 *
 * @example
 * ```ts
 * const result: PromptResult = {
 *   description: 'A day in Bern',
 *   messages: [{ role: 'user', content: { type: 'text', text: 'Plan a day in Bern.' } }],
 * };
 * ```
 */
export interface PromptResult {
  messages: PromptMessage[];
  description?: string;
  _meta?: Record<string, unknown>;
}

/**
 * An argument of a prompt. A request without a required argument is refused with `invalid_request`.
 *
 * @example
 * ```ts
 * const argument: PromptArgument = { name: 'city', description: 'Where the day is spent', required: true };
 * ```
 */
export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
  complete?: Completer;
}

/**
 * One message of a prompt.
 *
 * @example
 * ```ts
 * const message: PromptMessage = { role: 'user', content: { type: 'text', text: 'Plan a day in Bern.' } };
 * ```
 */
export interface PromptMessage {
  role: 'user' | 'assistant';
  content: ContentBlock;
}
