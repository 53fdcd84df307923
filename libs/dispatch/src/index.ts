/**
 * Dispatch: how a message finds its worker, and why nothing is lost. The mailbox and the lease (Lua, in Redis) are the
 * authority; BullMQ jobs are doorbells and may be lost or doubled. README.md in this folder tells the whole story.
 */

export type { Bus, BusHold, NewBusTask } from './bus/bus.ts';
export { startBusSweeper } from './bus/bus-sweeper.ts';
export { createDispatch, type Dispatch } from './dispatch.ts';
export type { EventLog, EventScope } from './events/event-log.ts';
export type { Subscriber } from './events/log-reader.ts';
export type { AnswerLog, LoggedMessage } from './gateway/answer-log.ts';
export type { CallTask, CallTaskChange, CallTasks } from './gateway/call-tasks.ts';
export type { McpSession, McpSessions } from './gateway/mcp-sessions.ts';
export type { PluginStates } from './gateway/plugin-states.ts';
export type { PluginStore } from './gateway/plugin-store.ts';
export type {
  FolderStanding,
  OtherFolder,
  ProfileFolder,
  Profiles,
  WorkProfile,
} from './gateway/profiles.ts';
export type { Replicas, Signal } from './gateway/replicas.ts';
export type { Authority, Ledger } from './gateway/tool-authority.ts';
export type {
  Begin,
  Claim,
  Ending,
  HeldThread,
  Hold,
  Lease,
  LeaseEvent,
  TaskChange,
  Turn,
} from './lease/lease.ts';
export { defaultLimits, type Limits } from './limits.ts';
export { createGate } from './redis/gate.ts';
export { type Script, scriptAt, scriptText } from './redis/scripts.ts';
export { untilReached } from './redis/until-reached.ts';
export type { WriteProbe, WriteProbeOptions } from './redis/write-probe.ts';
export { promptUuidOf } from './session/prompt-id.ts';
export type { SessionNote, Sessions, TranscriptState } from './session/sessions.ts';
export type { TranscriptEntry, TranscriptStore, Transcripts } from './session/transcripts.ts';
export { defaultIterations, type NewTask } from './task/tasks.ts';
export { feedbackOf, type Mail, notificationOf, reviewOf } from './thread/mail.ts';
export type { NewMessage, Runs } from './thread/runs.ts';
export type { DataChange, MigrationDeps } from './version/data-changes.ts';
export type { Admission, DataVersion } from './version/data-version.ts';
export { type Migration, migrateData } from './version/migrate-data.ts';
export { type Consumers, consumeRings, type RingHandler } from './worker/consume.ts';
export { type Control, followControl } from './worker/control.ts';
export { type Liveness, startLiveness } from './worker/liveness.ts';
export { defaultSweep, type Sweeper, type SweepOptions, startSweeper } from './worker/sweeper.ts';
export type { WorkerReport, Workers } from './worker/workers.ts';
