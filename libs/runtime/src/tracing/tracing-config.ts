import { z } from 'zod';
import type { Scrubber } from '../secrets/scrubber.ts';
import { noTracing, type Tracing } from './tracing.ts';

/** Variables of traces, part of the configuration of gateways and workers; names and values are those of OpenTelemetry. */
export const envTracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: z.enum(['true', 'false']).default('false'),
};

type TracingConfig = z.infer<z.ZodObject<typeof envTracing>>;

/**
 * Starts traces if OTEL_EXPORTER_OTLP_ENDPOINT is set. The SDK is only loaded then. `service`: `service.name`; `instance`: the
 * process.
 */
export async function startTracing(
  config: TracingConfig,
  process: { service: string; instance: string; scrubber: Scrubber },
): Promise<Tracing> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return noTracing;
  const { startOtlp } = await import('./otlp.ts');
  const hasContent = config.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true';
  return startOtlp({ ...process, ratio: ratioOf(config), hasContent });
}

function ratioOf({
  OTEL_TRACES_SAMPLER: sampler = 'parentbased_traceidratio',
  ...config
}: TracingConfig): number {
  if (sampler.endsWith('always_off')) return 0;
  return sampler.endsWith('always_on') ? 1 : config.OTEL_TRACES_SAMPLER_ARG;
}
