import { expect, it } from 'vitest';
import { hostEnvOf } from './host-env.ts';

it('passes on the environment without the secrets of the gateway', () => {
  const visible = { PATH: '/bin', MY_TOKEN: 'the plugin’s own', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' };
  const secret = {
    REDIS_URL: 'x',
    ANTHROPIC_API_KEY: 'x',
    HARNESS_TOKEN_SECRET: 'x',
    HARNESS_INPUT_GH: 'x',
    OTEL_EXPORTER_OTLP_HEADERS: 'x',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x',
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x',
  };
  expect(hostEnvOf({ ...visible, ...secret, UNSET: undefined })).toEqual(visible);
});
