/** What a request of a client brings with it, and how it may be answered. */

/** Who calls: a key of a tenant. */
export interface Principal {
  keyId: string;
  tenant: string;
  scopes: readonly string[];
}

/** A string result is short for one text block. The model sees `structuredContent` in place of text where both are. */
export interface ToolResult {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  /** The tool ran and failed; the content says why, in words for the model. */
  isError?: boolean;
  /**
   * Host's own keys: `harness/error` = `{code, message, details?}` with a code of the error table; `harness/taskId` = the
   * delegated task that this call has started.
   */
  _meta?: Record<string, unknown>;
}

/** MCP's content blocks; binary data is base64. */
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

export type EmbeddedResource = { uri: string; mimeType?: string; _meta?: Record<string, unknown> } & (
  | { text: string }
  | { blob: string }
);

/**
 * "I cannot go on without an answer of the client's user, model or machine": made by `needInput`. The call ends here, and
 * is made again from its beginning with the answers in `meta.inputs` and `state` in `meta.state`; so do nothing before
 * it that must not be done twice. It reads the same in every era of MCP, and in a task.
 */
export interface InputRequired {
  inputRequests: Readonly<Record<string, InputRequest>>;
  /** JSON; signed on its way through the client. */
  state?: unknown;
}

/** MCP's own requests to a client. */
export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  params?: Record<string, unknown>;
}

export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** What every request of a client brings with it. */
export interface PluginRequestMeta {
  principal: Principal;
  /** Aborts when the caller cancels or the time limit passes. */
  signal: AbortSignal;
  /** What the client said it can do, e.g. `{elicitation: {}, sampling: {}}`; empty where nobody can be asked. */
  capabilities: Readonly<Record<string, unknown>>;
  /** Answers to the `inputRequests` of the round before, by key, checked for their shape. */
  inputs: Readonly<Record<string, Record<string, unknown>>>;
  /** The `state` of the round before. */
  state?: unknown;
  /** W3C trace context of the request, where it brought one: for calls of other services. */
  traceparent?: string;
  /** A line for the client's log, if it wants lines of that level. */
  log(level: LogLevel, data: unknown, logger?: string): void;
}
