import type { FastifyInstance } from 'fastify';
import type { AppDeps } from '../app-deps.ts';
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts';
import { type Audit, createAudit } from './audit.ts';
import { auditKeyFile } from './audit-key-file.ts';
import { auditRequests, type RecordChange, type RequestAuditDeps } from './audit-requests.ts';

/** What the audit of a gateway needs. */
export interface OpenAuditDeps
  extends Pick<AppDeps, 'dispatch' | 'scrubber' | 'logger' | 'auditOutputs' | 'keyFile'>,
    Omit<RequestAuditDeps, 'audit'> {
  metrics: GatewayMetrics;
}

/** Opens the audit of a gateway: its requests and its key file are recorded from now on, until the app is closed. */
export function openAudit(
  app: FastifyInstance,
  { dispatch, metrics, keyFile, auditOutputs = [], ...deps }: OpenAuditDeps,
): { audit: Audit; recordChange: RecordChange } {
  const audit = createAudit({
    ...deps,
    outputs: auditOutputs,
    append: (batch) => dispatch.audit.append(batch),
    replica: dispatch.replicas.id,
    onDropped: metrics.auditDropped,
  });
  app.addHook('onClose', audit.close);
  if (keyFile) auditKeyFile(keyFile, audit);
  return { audit, recordChange: auditRequests(app, { ...deps, audit }) };
}
