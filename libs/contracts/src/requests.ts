/** What callers send. Unknown fields are errors, so that a misspelled option is never silently ignored. */
import { z } from 'zod';
import { MessageFile, maxMessageFiles } from './files/files.ts';
import { AgentName, Metadata, Model, RunId, SkillName, ThreadId } from './resources.ts';

/**
 * Largest text of one message, characters. The gateway's limit for a whole body, 256 KiB, applies as well.
 */
export const maxInputChars = 200_000;

const NonBlank = z
  .string()
  .max(maxInputChars)
  .regex(/\S/)
  .describe('At least one character that is not white space');

const SystemPrompt = z.string().max(maxInputChars);
const AllowedTools = z.array(z.string().max(128)).max(500);

/** Creates a thread. */
export const CreateThread = z.strictObject({
  threadId: ThreadId.optional(),
  ifExists: z.enum(['raise', 'doNothing']).optional().describe('Default raise: 409 when the thread exists'),
  model: Model.optional(),
  agent: AgentName.optional(),
  metadata: Metadata.optional(),
  systemPrompt: SystemPrompt.optional(),
  allowedTools: AllowedTools.optional().describe('Tools of this thread; default all'),
  workspace: z
    .boolean()
    .optional()
    .describe('true: it has files of its own; false: never; default: as its agent or skill asks'),
});
/** The request that creates a thread. */
export type CreateThread = z.infer<typeof CreateThread>;

/** Makes a thread with the conversation and the files of another one. */
export const ForkThread = z.strictObject({
  atRunId: RunId.optional().describe('As they were when this run ended; default: as they are now'),
  threadId: ThreadId.optional().describe('Of the new thread'),
});
/** Creates a thread from another one. */
export type ForkThread = z.infer<typeof ForkThread>;

/** Changes a thread; an absent field stays. */
export const UpdateThread = z.strictObject({
  model: Model.nullable().optional().describe('Model of its next turns; null: the default'),
  agent: AgentName.nullable().optional().describe('null: none'),
  skill: SkillName.nullable().optional().describe('Active on its next turns; null ends it'),
  metadata: Metadata.nullable().optional().describe('Replaces all metadata of the thread; null: none'),
  systemPrompt: SystemPrompt.nullable().optional().describe('null: the default'),
  allowedTools: AllowedTools.nullable()
    .optional()
    .describe(
      'null: all. A delegated thread may have only tools that its parent has; threads below it keep theirs',
    ),
});
/** A change of a thread. */
export type UpdateThread = z.infer<typeof UpdateThread>;

/**
 * What to do with a message while a run is in progress: wait in the mailbox, be refused, or end the earlier
 * runs.
 */
export const MultitaskStrategy = z.enum(['enqueue', 'reject', 'interrupt']);
/** What to do with a message while a run is in progress. */
export type MultitaskStrategy = z.infer<typeof MultitaskStrategy>;

/** Sends a message to a thread. */
export const CreateRun = z.strictObject({
  input: NonBlank,
  model: Model.optional(),
  multitaskStrategy: MultitaskStrategy.optional().describe(
    'What happens while another run is in progress; default enqueue',
  ),
  metadata: Metadata.optional(),
  files: z
    .array(MessageFile)
    .max(maxMessageFiles)
    .optional()
    .describe('Lie in the workspace when the turn starts, and replace files of these paths'),
});
/** A message to a thread. */
export type CreateRun = z.infer<typeof CreateRun>;

/** Requests the start of a thread's session. */
export const Prewarm = z.strictObject({ threadId: ThreadId });
/** A request for the start of a thread's session. */
export type Prewarm = z.infer<typeof Prewarm>;

/** Largest number of reviews that a task may ask for. */
export const maxTaskIterations = 20;
/** The files that a sub-agent begins with. */
export const TaskWorkspace = z
  .union([z.boolean(), z.literal('empty')])
  .describe(
    'true: a workspace with a copy of the files of its parent; "empty": one without files; false: none; default: as its parent',
  );
/** The files that a sub-agent begins with. */
export type TaskWorkspace = z.infer<typeof TaskWorkspace>;

/** Delegates a task. */
export const CreateTask = z.strictObject({
  prompt: NonBlank,
  parentThreadId: ThreadId.optional(),
  model: Model.optional(),
  agent: AgentName.optional().describe('The agent that does it'),
  maxIterations: z
    .int()
    .min(1)
    .max(maxTaskIterations)
    .optional()
    .describe(
      'Maximum number of reviews: after the last one the task ends with its result as it is; default 5',
    ),
  target: z
    .enum(['fleet', 'bus'])
    .optional()
    .describe('Where the work is done: fleet = by a sub-agent here (default); bus = by an external worker'),
  workspace: TaskWorkspace.optional(),
});
/** The request that delegates a task. */
export type CreateTask = z.infer<typeof CreateTask>;

/** Enables or disables a plugin. */
export const UpdatePlugin = z.strictObject({
  enabled: z.boolean(),
  for: z
    .enum(['tenant', 'all'])
    .optional()
    .describe('The caller’s tenant (default), or all tenants, which needs the scope fleet'),
});
/** A change of a plugin. */
export type UpdatePlugin = z.infer<typeof UpdatePlugin>;

/** Calls a tool over REST. */
export const CallTool = z.strictObject({
  arguments: z.record(z.string(), z.unknown()).optional(),
  threadId: ThreadId.optional(),
});
/** A tool call over REST. */
export type CallTool = z.infer<typeof CallTool>;

/** Runs a slash command on a thread. */
export const RunCommand = z.strictObject({
  command: NonBlank.describe('As a person types it, e.g. "/use release-notes"'),
});
/** A slash command on a thread. */
export type RunCommand = z.infer<typeof RunCommand>;

/** Enables or disables an upstream for the whole fleet. */
export const UpdateUpstream = z.strictObject({ enabled: z.boolean() });
/** A change of an upstream. */
export type UpdateUpstream = z.infer<typeof UpdateUpstream>;

/** A person's answer to a question of a tool. */
export const Answer = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('With `accept`: as the schema of the question says'),
});
/** The answer to a question of a tool. */
export type Answer = z.infer<typeof Answer>;
