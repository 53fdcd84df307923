/**
 * Dispatch: how a message finds its worker, and why nothing is lost. The mailbox and the lease (Lua, in Redis) are the
 * authority; BullMQ jobs are doorbells and may be lost or doubled. README.md in this folder tells the whole story.
 */

export type { AnswerLog, LoggedMessage } from './answer-log.ts';
export type { Bus, BusHold, NewBusTask } from './bus.ts';
export { startBusSweeper } from './bus-sweeper.ts';
export type { CallTask, CallTaskChange, CallTasks } from './call-tasks.ts';
export { type Consumers, consumeRings, type RingHandler } from './consume.ts';
export { type Control, followControl } from './control.ts';
export { type Authority, createDispatch, type Dispatch, type Ledger } from './dispatch.ts';
export type { EventLog, EventScope } from './event-log.ts';
export { createGate } from './gate.ts';
export type { Begin, Claim, Ending, HeldThread, Hold, Lease, LeaseEvent, TaskChange, Turn } from './lease.ts';
export { type Liveness, startLiveness } from './liveness.ts';
export type { Subscriber } from './log-reader.ts';
export { feedbackOf, type Mail, notificationOf, reviewOf } from './mail.ts';
export type { McpSession, McpSessions } from './mcp-sessions.ts';
export type { PluginStates } from './plugin-states.ts';
export type { PluginStore } from './plugin-store.ts';
export type { FolderStanding, OtherFolder, ProfileFolder, Profiles, WorkProfile } from './profiles.ts';
export { promptUuidOf } from './prompt-id.ts';
export type { Replicas, Signal } from './replicas.ts';
export type { NewMessage, Runs } from './runs.ts';
export { defaultLimits, type Limits, type ScriptName, scriptText } from './scripts.ts';
export type { SessionNote, Sessions, TranscriptState } from './sessions.ts';
export { defaultSweep, type Sweeper, type SweepOptions, startSweeper } from './sweeper.ts';
export { defaultIterations, type NewTask } from './tasks.ts';
export type { TranscriptEntry, TranscriptStore, Transcripts } from './transcripts.ts';
export { untilReached } from './until-reached.ts';
export type { DataChange, MigrationDeps } from './version/data-changes.ts';
export type { Admission, DataVersion } from './version/data-version.ts';
export { type Migration, migrateData } from './version/migrate-data.ts';
export type { WorkerReport, Workers } from './workers.ts';
export type { WriteProbe, WriteProbeOptions } from './write-probe.ts';
