/**
 * Dispatch: how a message reaches a worker, and why none is lost. The mailbox and the lease in Redis, changed
 * only by Lua scripts, are the source of truth; a BullMQ job is only a doorbell, which may be lost or
 * duplicated. README.md describes the design.
 *
 *   dispatch.ts  createDispatch: builds every room
 *   limits.ts    bounds that the scripts enforce
 *   redis/       keys, scripts and how they are run, pub/sub
 *   thread/      threads, their runs and mailboxes
 *   thread-list/ lists of threads by state, agent, skill, time and text
 *   lease/       a worker's hold on threads, doorbells
 *   task/        delegated tasks
 *   session/     prewarm, state and transcripts of sessions
 *   files/       versions of threads' files
 *   events/      the event log and its subscribers
 *   access/      API keys made by the API; the audit log
 *   fair/        the order of tenants and threads that wait for a worker
 *   mcp/         sessions of MCP clients, their calls and their streams
 *   quota/       what tenants and keys may hold and request
 *   bus/         tasks for external workers
 *   figures/     totals of the fleet, and the check of its promises
 *   worker/      consumers, liveness and sweep of a worker
 *   upstream/    which gateway is connected to an upstream; calls among gateways
 *   gateway/     what gateways share; the authority of sessions at tool calls
 *   fail-over/   acks by replicas, and what a fail-over took back
 *   version/     which releases may work on the data
 */

export type { AuditBatch, AuditLog } from './access/audit-log.ts';
export type { ConsoleSessions } from './access/console-sessions.ts';
export type { IssuedKey, IssuedKeys } from './access/issued-keys.ts';
export type { KeyName, KeyRights, NotedKey } from './access/key-rights.ts';
export type { Tickets } from './access/tickets.ts';
export type { TokenSecrets } from './access/token-secrets.ts';
export type { Bus, BusHold, NewBusTask } from './bus/bus-contract.ts';
export { startBusSweeper } from './bus/bus-sweeper.ts';
export { createDispatch, type Dispatch } from './dispatch.ts';
export type { EventLog, EventScope } from './events/event-log.ts';
export type { Subscriber } from './events/log-reader.ts';
export {
  type Counted,
  durationFields,
  type Figures,
  type FleetTotals,
  sumOfDurations,
} from './figures/figures.ts';
export type { Files } from './files/files.ts';
export type { PluginStates } from './gateway/plugin-states.ts';
export type { PluginStore } from './gateway/plugin-store.ts';
export type {
  EmbeddedCommands,
  FolderStanding,
  OtherFolder,
  ProfileFolder,
  Profiles,
  SkillFiles,
  WorkProfile,
} from './gateway/profiles.ts';
export type { Replicas, Signal } from './gateway/replicas.ts';
export type { Authority, Ledger } from './gateway/tool-authority.ts';
export type { Lease } from './lease/lease.ts';
export type {
  Begin,
  Claim,
  DeadAttempt,
  Ending,
  HeldThread,
  Hold,
  LeaseEvent,
  LeftFiles,
  TaskChange,
  Turn,
} from './lease/turn.ts';
export { defaultLimits, type Limits } from './limits.ts';
export type { CallTask, CallTaskChange, CallTasks } from './mcp/call-tasks.ts';
export type { McpSession, McpSessions } from './mcp/mcp-sessions.ts';
export type { LoggedMessage, StreamLog } from './mcp/stream-log.ts';
export type { Quota, QuotaOf } from './quota/quota.ts';
export type { Bucket, Draw, RequestBudget } from './quota/request-budget.ts';
export { createGate } from './redis/gate.ts';
export { type Script, scriptAt, scriptText } from './redis/scripts.ts';
export { untilReached } from './redis/until-reached.ts';
export type { WriteProbe, WriteProbeOptions } from './redis/write-probe.ts';
export { promptUuidOf } from './session/prompt-id.ts';
export type { Questions } from './session/questions.ts';
export type { SessionNote, Sessions, TranscriptState } from './session/sessions.ts';
export type { TranscriptEntry, TranscriptStore, Transcripts } from './session/transcripts.ts';
export { defaultIterations, type NewTask } from './task/tasks.ts';
export { feedbackOf, type Mail, notificationOf, reviewOf } from './thread/mail.ts';
export type { NewMessage, Runs } from './thread/runs.ts';
export type { Sender } from './thread/sender.ts';
export type { ThreadPage, ThreadQuery } from './thread-list/thread-list.ts';
export type { GatewayCall, GatewayCalls } from './upstream/gateway-calls.ts';
export { type UpstreamOwners, upstreamTtlMs } from './upstream/upstream-owners.ts';
export type { DataChange, MigrationDeps } from './version/data-changes.ts';
export type { Admission, DataVersion } from './version/data-version.ts';
export { type Migration, migrateData } from './version/migrate-data.ts';
export { type Consumers, consumeRings, type RingHandler } from './worker/consume.ts';
export { type Control, followControl } from './worker/control.ts';
export { type Liveness, startLiveness } from './worker/liveness.ts';
export { defaultSweep, type Sweeper, type SweepOptions, startSweeper } from './worker/sweeper.ts';
export type { WorkerReport, Workers } from './worker/workers.ts';
