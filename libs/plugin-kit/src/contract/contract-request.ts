/** What a client's request carries, and the shapes of its result. */

/**
 * The caller: an API key or token of a tenant.
 *
 * @example
 * ```ts
 * const mayWrite = (principal: Principal) => principal.scopes.includes('weather:write');
 * ```
 */
export interface Principal {
  keyId: string;
  tenant: string;
  scopes: readonly string[];
}

/**
 * The result of a tool call. When both are present, the model sees `structuredContent` instead of the text in `content`.
 *
 * @example
 * ```ts
 * const result: ToolResult = {
 *   content: [{ type: 'text', text: '21 °C' }],
 *   structuredContent: { celsius: 21 },
 * };
 * ```
 */
export interface ToolResult {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  /** The tool ran and failed; the content explains the failure to the model. */
  isError?: boolean;
  /**
   * The host's own keys: `harness/error` = `{code, message, details?}` with a code of the error table;
   * `harness/taskId` = the delegated task that this call has started.
   */
  _meta?: Record<string, unknown>;
}

/**
 * A content block of MCP. Binary data is base64.
 *
 * @example
 * ```ts
 * const block: ContentBlock = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
 * ```
 */
export type ContentBlock = (
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'audio'; data: string; mimeType: string }
  | {
      type: 'resource_link';
      uri: string;
      name: string;
      title?: string;
      description?: string;
      mimeType?: string;
      size?: number;
    }
  | { type: 'resource'; resource: EmbeddedResource }
) & { annotations?: Record<string, unknown>; _meta?: Record<string, unknown> };

/**
 * The content of a resource: text, or base64 in `blob`.
 *
 * @example
 * ```ts
 * const embedded: EmbeddedResource = { uri: 'weather://city/Bern', mimeType: 'text/plain', text: 'sunny' };
 * ```
 */
export type EmbeddedResource = { uri: string; mimeType?: string; _meta?: Record<string, unknown> } & (
  | { text: string }
  | { blob: string }
);

/**
 * Returned by a handler that needs input from the client's user, model or machine; made with `needInput`. The call ends
 * and the handler is called again from its beginning, with the client's responses in `meta.inputs` and `state` in
 * `meta.state`. So do nothing before it that must not happen twice. Works the same in every version of MCP, and in a
 * task.
 *
 * @example
 * ```ts
 * handler: (_ctx, _input, { inputs }) =>
 *   inputs.name
 *     ? `Hello, ${JSON.stringify(inputs.name)}`
 *     : needInput({ name: { method: 'elicitation/create', params: { message: 'Your name?' } } }),
 * ```
 */
export interface InputRequired {
  inputRequests: Readonly<Record<string, InputRequest>>;
  /** JSON. It is signed, because it travels through the client. */
  state?: unknown;
}

/**
 * A request of MCP to the client.
 *
 * @example
 * ```ts
 * const question: InputRequest = { method: 'elicitation/create', params: { message: 'Which city?' } };
 * ```
 */
export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  params?: Record<string, unknown>;
}

/**
 * The log levels of MCP.
 *
 * @example
 * ```ts
 * const level: LogLevel = 'warning';
 * meta.log(level, { city: 'Bern', missing: 'wind' });
 * ```
 */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/**
 * What a handler of a tool, a resource or a prompt knows about the request.
 *
 * @example
 * ```ts
 * handler: async (_ctx, { city }, { signal, principal }) => {
 *   const response = await fetch(`https://example.com/${city}?for=${principal.tenant}`, { signal });
 *   return response.text();
 * },
 * ```
 */
export interface PluginRequestMeta {
  principal: Principal;
  /** The thread of the request, if it has one. */
  threadId?: string;
  /** Aborts when the caller cancels or the time limit passes. */
  signal: AbortSignal;
  /** The client's declared capabilities, e.g. `{elicitation: {}, sampling: {}}`; empty if it cannot be asked. */
  capabilities: Readonly<Record<string, unknown>>;
  /** The client's responses to the `inputRequests` of the previous round, by key: the shape is that of MCP, the answers are what
   * the client sent. Validate them like other input. */
  inputs: Readonly<Record<string, Record<string, unknown>>>;
  /** The `state` of the previous round. */
  state?: unknown;
  /** W3C trace context of the request, if it carried one; pass it on to other services. */
  traceparent?: string;
  /** Sends a line to the client's log, if the client has asked for this level. */
  log(level: LogLevel, data: unknown, logger?: string): void;
}
