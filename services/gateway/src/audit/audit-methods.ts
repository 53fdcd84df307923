import { toAppError } from '@harness/contracts';
import { type Audit, isRecorded, isRefusal } from './audit.ts';
import { auditSource } from './audit-source.ts';

/** MCP methods that change something; tool calls have their own records. */
const changing = new Set(['tasks/update', 'tasks/cancel', 'resources/subscribe', 'resources/unsubscribe']);

/** A request of a method, as far as the audit reads it. */
interface Asked {
  caller: { principal: { tenant: string; keyId: string } };
  params: Record<string, unknown>;
}

/** Wraps MCP methods so that changes and refusals are recorded. */
export function auditMethods<Request extends Asked, Result>(
  methods: Record<string, (request: Request) => Result | Promise<Result>>,
  audit: Audit,
): Record<string, (request: Request) => Promise<Result>> {
  const audited = ([method, run]: [string, (typeof methods)[string]]) => {
    const record = ({ caller, params }: Request, outcome: string) => {
      const source = auditSource.getStore();
      if (source?.isRecorded && outcome !== 'ok') return;
      const target = [params.taskId, params.name, params.uri].find((id) => typeof id === 'string');
      audit.record({ caller: caller.principal, source, action: method, target, outcome });
    };
    return async (request: Request): Promise<Result> => {
      try {
        const result = await run(request);
        if (changing.has(method)) record(request, 'ok');
        return result;
      } catch (thrown) {
        const { code } = toAppError(thrown);
        if (isRefusal(code) || (changing.has(method) && isRecorded(code))) record(request, code);
        throw thrown;
      }
    };
  };
  return Object.fromEntries(Object.entries(methods).map((entry) => [entry[0], audited(entry)]));
}
