/**
 * The audit: who changed or called what, and who was refused. Each record goes to standard output and to a file, as the
 * operator chooses, whatever the log level is, and to Redis for `GET /v1/audit`. Recording never waits and never fails: what
 * cannot be stored in time is dropped and counted.
 *
 * This folder:
 *   open-audit.ts        opens the audit of a gateway
 *   audit-source.ts      the request that a record is about
 *   audit-requests.ts    records of REST requests, and of every request that is refused before its route
 *   audit-methods.ts     records of MCP methods
 *   audit-tool-calls.ts  records of tool calls, from REST and MCP
 *   audit-key-file.ts    records of changes in the key file
 */
import { AppError, type AuditRecord, cutText, errorCodes, toAppError } from '@harness/contracts';
import type { AuditBatch } from '@harness/dispatch';
import type { Logger, Scrubber } from '@harness/runtime';
import { accessKeyPrefix } from '../oauth/access-tokens.ts';
import type { AuditSource } from './audit-source.ts';

/** What is recorded. */
export interface AuditEntry {
  /** Undefined if the caller is not known. */
  caller: { tenant: string; keyId: string | null } | undefined;
  source: AuditSource | undefined;
  action: string;
  target?: string | undefined;
  /** `ok`, or a code of the error table. */
  outcome: string;
}

/** Writes records. */
export interface Audit {
  /** Records one entry. `about`: further fields for standard output and the file. */
  record(entry: AuditEntry, about?: object): void;
  /** Writes what waits; what cannot be stored in Redis now is dropped. */
  close(): Promise<void>;
}

/** Where lines go: standard output, a file. Must not throw. */
export interface AuditOutput {
  write(lines: string): void;
}

/** What the audit needs. */
export interface AuditDeps {
  outputs: readonly AuditOutput[];
  /** Stores a batch for `GET /v1/audit`. */
  append(batch: AuditBatch): Promise<void>;
  /** Id of this gateway. */
  replica: string;
  scrubber: Scrubber;
  logger: Pick<Logger, 'warn'>;
  /** Called for records that were not stored in Redis. */
  onDropped(count: number): void;
}

/** Records are written together: after at most this time, ms, or this number of records. */
const flushMs = 200;
const maxBatch = 200;
/** The action of a tool call. */
export const toolCallAction = 'tools/call';

/** Equal refusals, and equal changes that failed, within this time are one record, ms. */
const refusalMs = 1_000;
/** Different refusals in that time; further ones are one record per error code, without caller and target. */
const maxRefusals = 1_000;
/** Records that wait for Redis; further ones are dropped. */
const maxWaiting = 10_000;
const retryMs = 1_000;
/** Longest target, key id and so on, characters. */
const maxChars = 200;

const refusalStatuses = [401, 403, 429];
const refusals: ReadonlySet<string> = new Set(
  errorCodes.filter(
    (code) => code === 'stale_epoch' || refusalStatuses.includes(new AppError(code, '').status),
  ),
);
/** Whether the code is of a refusal: no or not enough rights, or a limit. */
export const isRefusal = (code: string): boolean => refusals.has(code);

/**
 * Whether a change that failed with this code leaves a record: a refusal, something that the caller does not have, or a
 * failure after which the change may have happened. Malformed requests and conflicts change nothing.
 */
export const isRecorded = (code: string): boolean =>
  code === 'ok' || refusals.has(code) || /(^|_)not_found$/.test(code) || failures.has(code);
const failures: ReadonlySet<string> = new Set(
  errorCodes.filter((code) => new AppError(code, '').status >= 500),
);

/**
 * Creates the audit of one gateway. If the process exits before the audit is closed, what waits is still written to the
 * outputs; Redis cannot be reached any more.
 */
export function createAudit(deps: AuditDeps): Audit {
  const { outputs, scrubber } = deps;
  const store = createStore(deps);
  let due: Draft[] = [];
  let flushing: NodeJS.Timeout | undefined;
  let refused = new Map<string, Draft>();
  let counting: NodeJS.Timeout | undefined;

  const flush = () => {
    clearTimeout(flushing);
    flushing = undefined;
    const drafts = due;
    due = [];
    let lines = '';
    for (const draft of drafts) {
      const record = recordOf(draft, scrubber);
      const text = JSON.stringify(record);
      if (outputs.length > 0) lines += lineOf(record, text, draft.about);
      store.add(record.tenant, text);
    }
    for (const output of outputs) output.write(lines);
    store.flush();
  };
  const write = (draft: Draft) => {
    if (due.push(draft) >= maxBatch) flush();
    else flushing ??= setTimeout(flush, flushMs).unref();
  };
  const writeRefusals = () => {
    clearTimeout(counting);
    counting = undefined;
    const all = refused;
    refused = new Map();
    for (const draft of all.values()) write(draft);
  };
  const count = (draft: Draft) => {
    const { tenant, keyId, address, action, target, outcome } = draft;
    const key = JSON.stringify([tenant, keyId, address, action, target, outcome]);
    const same = refused.get(key);
    if (same) same.count++;
    else if (refused.size < maxRefusals || action === '*') refused.set(key, draft);
    else
      count({
        ...draft,
        tenant: null,
        keyId: null,
        subject: null,
        address: null,
        action: '*',
        target: null,
        about: undefined,
      });
    counting ??= setTimeout(writeRefusals, refusalMs).unref();
  };

  const writeAll = () => {
    writeRefusals();
    flush();
  };
  // Before the listeners of the outputs, which write what they still have in memory.
  process.prependListener('exit', writeAll);

  return {
    record({ caller, source, action, target, outcome }, about) {
      if (source) source.isRecorded = true;
      const keyId = caller?.keyId ?? undefined;
      const draft: Draft = {
        atMs: Date.now(),
        tenant: caller?.tenant ?? null,
        keyId: kept(keyId) ?? null,
        subject: keyId?.startsWith(accessKeyPrefix) ? kept(keyId.slice(accessKeyPrefix.length)) : null,
        address: source?.address ?? null,
        action,
        target: kept(target) ?? null,
        outcome,
        requestId: source?.requestId ?? null,
        count: 1,
        about,
      };
      // A tool that failed has run: each of its calls has a record of its own.
      const hasRun = outcome === 'ok' || (action === toolCallAction && !isRefusal(outcome));
      if (hasRun) write(draft);
      else count(draft);
    },
    async close() {
      writeAll();
      await store.close();
      process.off('exit', writeAll);
    },
  };
}

/**
 * A record before it is written. Records are made and serialized together, just before they are written: in a loop each takes
 * a fraction of the time.
 */
interface Draft extends Omit<AuditRecord, 'at'> {
  atMs: number;
  count: number;
  about: object | undefined;
}

function recordOf(draft: Draft, scrubber: Scrubber): AuditRecord {
  const { atMs, tenant, keyId, subject, address, action, target, outcome, requestId, count } = draft;
  return {
    at: new Date(atMs).toISOString(),
    tenant,
    keyId,
    subject,
    address,
    action,
    target: target && scrubber.text(target),
    outcome,
    requestId,
    ...(count > 1 && { count }),
  };
}

/**
 * Limits a value that callers choose, for a record that waits: a copy of its beginning, since a slice would keep the whole
 * text in memory.
 */
export const kept = <Text extends string | undefined>(text: Text): Text | string =>
  text === undefined || text.length <= maxChars ? text : Buffer.from(cutText(text, maxChars)).toString();

/** A log line like those of the logger. `text`: the record as JSON. */
function lineOf({ at }: AuditRecord, text: string, about: object = {}): string {
  const tail = JSON.stringify(about).slice(1, -1);
  return `{"level":30,"time":"${at}","service":"gateway","audit":true,${text.slice(1, -1)}${tail && `,${tail}`}}\n`;
}

/** Sends records to Redis in batches, one at a time, and keeps those that could not be sent yet, up to a limit. */
function createStore({ append, replica, logger, onDropped }: AuditDeps) {
  let waiting: AuditBatch['records'][number][] = [];
  /** How many of them are sent now. Those that come meanwhile wait for the next flush, so that batches stay large. */
  let due = 0;
  let batches = 0;
  let sending: Promise<void> | undefined;
  let closing = false;
  let isDropping = false;
  const drop = (count: number, err?: unknown) => {
    onDropped(count);
    if (!isDropping) logger.warn({ err }, 'audit: records are not stored in Redis');
    isDropping = true;
  };
  /** Also true for a batch that can never be stored. */
  const isSettled = async (batch: AuditBatch): Promise<boolean> => {
    try {
      await append(batch);
      isDropping = false;
    } catch (thrown) {
      if (toAppError(thrown).retry && !closing) return false;
      drop(batch.records.length, thrown);
    }
    return true;
  };
  const send = async () => {
    while (due > 0) {
      const records = waiting.slice(0, Math.min(due, maxBatch));
      const batch = { replica, batch: String(batches++), records };
      while (!(await isSettled(batch))) await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      waiting = waiting.slice(records.length);
      due -= records.length;
    }
    sending = undefined;
  };
  const flush = () => {
    due = waiting.length;
    if (due > 0) sending ??= send();
  };
  return {
    add(tenant: string | null, text: string) {
      if (waiting.length < maxWaiting) waiting.push({ tenant, text });
      else drop(1);
    },
    flush,
    async close() {
      closing = true;
      flush();
      await sending;
    },
  };
}
