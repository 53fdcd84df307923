import { isInputRequired, type PluginToolMeta, type ToolOutcome } from '@harness/plugin-kit';
import { inSpan, type OpenSpan, type Tracing } from '@harness/runtime';
import type { Caller } from '../http/credentials/authenticate.ts';
import type { ToolCall } from './tool-call.ts';

/** Records the spans of tool calls, by the conventions of OpenTelemetry for MCP and generative AI. */
export interface ToolTrace {
  /**
   * Records a call. The parent of a session's call is the turn in progress, so the session sends no trace context; calls of an
   * untraced run are not recorded. The parent of another caller's call is the traceparent in its `_meta`, with a link to its
   * HTTP request, or else that request.
   */
  call(caller: Caller, call: ToolCall, run: () => Promise<ToolOutcome>): Promise<ToolOutcome>;
  /** The work of the plugin; its meta has the span, so that a plugin in another process can continue the trace. */
  plugin<Meta extends Pick<PluginToolMeta, 'traceparent'> | { traceparent?: string | undefined }>(
    call: { name: string; meta: Meta },
    run: (meta: Meta) => Promise<ToolOutcome>,
  ): Promise<ToolOutcome>;
}

const none: readonly string[] = [];

/** Creates the recorder. While traces are off, calls run unchanged. */
export function createToolTrace(tracing: Tracing): ToolTrace {
  if (!tracing.isOn) return { call: (_caller, _call, run) => run(), plugin: ({ meta }, run) => run(meta) };

  const placeOf = ({ session, authority }: Caller, { traceparent }: ToolCall) => {
    if (session) return { parent: authority?.outcome === 'ok' ? authority.trace : undefined };
    const current = tracing.current();
    if (traceparent === undefined) return { parent: current };
    return { parent: traceparent, links: current ? [current] : [] };
  };

  return {
    call(caller, toolCall, run) {
      const { name, transport, toolUseId, wire, arguments: input } = toolCall;
      const { parent, links = none } = placeOf(caller, toolCall);
      if (caller.session && parent === undefined) return run();
      const recorded = async (span: OpenSpan) => {
        span.set({
          ...(wire && { 'mcp.method.name': 'tools/call', 'mcp.protocol.version': wire.protocolVersion }),
          ...(wire?.sessionId && { 'mcp.session.id': wire.sessionId }),
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': name,
          'harness.transport': caller.session ? 'session' : transport,
          'harness.tenant': caller.principal.tenant,
          ...(toolUseId && { 'gen_ai.tool.call.id': toolUseId }),
          ...(tracing.hasContent && { 'gen_ai.tool.call.arguments': JSON.stringify(input ?? null) }),
        });
        const outcome = await run();
        if (isInputRequired(outcome)) return outcome;
        if (outcome.isError) span.fail('tool_error');
        if (tracing.hasContent) span.set({ 'gen_ai.tool.call.result': JSON.stringify(outcome.content) });
        return outcome;
      };
      return inSpan(tracing, { name: `tools/call ${name}`, kind: 'SERVER', parent, links }, (span) =>
        // Most calls are not sampled: no attributes are computed for them.
        span.traceparent === undefined ? run() : recorded(span),
      );
    },
    plugin({ name, meta }, run) {
      const current = tracing.current();
      if (current === undefined) return run(meta);
      const [plugin = name] = name.split('__', 1);
      const spec = { name: `plugin ${plugin}`, parent: current, attributes: { 'harness.plugin': plugin } };
      return inSpan(tracing, spec, (span) => run({ ...meta, traceparent: span.traceparent }));
    },
  };
}
