/** What callers send. Strict: an unknown field is an error, so a misspelt option is never silently ignored. */
import { z } from 'zod';
import { AgentName, Metadata, Model, SkillName, ThreadId } from './resources.ts';

/** Largest text of one message, in characters; the body limit of the gateway (256 KiB) comes on top. */
export const maxInputChars = 200_000;

const NonBlank = z
  .string()
  .max(maxInputChars)
  .regex(/\S/)
  .describe('Needs a character that is not white space');

const SystemPrompt = z.string().max(maxInputChars);
const AllowedTools = z.array(z.string().max(128)).max(500);

export const CreateThread = z.strictObject({
  threadId: ThreadId.optional(),
  ifExists: z.enum(['raise', 'doNothing']).optional().describe('Default raise: 409 when the thread exists'),
  model: Model.optional(),
  agent: AgentName.optional(),
  metadata: Metadata.optional(),
  systemPrompt: SystemPrompt.optional(),
  allowedTools: AllowedTools.optional().describe('Tools of this thread; default all'),
});
export type CreateThread = z.infer<typeof CreateThread>;

export const UpdateThread = z.strictObject({
  model: Model.nullable().optional().describe('Of its next turns; null: the default'),
  agent: AgentName.nullable().optional().describe('null: none'),
  skill: SkillName.nullable().optional().describe('Active on its next turns; null ends it'),
  metadata: Metadata.nullable().optional().describe('In place of what was there; null: none'),
  systemPrompt: SystemPrompt.nullable().optional().describe('null: the default'),
  allowedTools: AllowedTools.nullable()
    .optional()
    .describe('null: all. Of a delegated thread only tools that its parent has; threads below keep theirs'),
});
export type UpdateThread = z.infer<typeof UpdateThread>;

export const MultitaskStrategy = z.enum(['enqueue', 'reject', 'interrupt']);
export type MultitaskStrategy = z.infer<typeof MultitaskStrategy>;

export const CreateRun = z.strictObject({
  input: NonBlank,
  model: Model.optional(),
  multitaskStrategy: MultitaskStrategy.optional().describe('While a run is under way; default enqueue'),
  metadata: Metadata.optional(),
});
export type CreateRun = z.infer<typeof CreateRun>;

export const Prewarm = z.strictObject({ threadId: ThreadId });
export type Prewarm = z.infer<typeof Prewarm>;

export const maxTaskIterations = 20;
export const CreateTask = z.strictObject({
  prompt: NonBlank,
  parentThreadId: ThreadId.optional(),
  model: Model.optional(),
  agent: AgentName.optional().describe('Who is to do it'),
  maxIterations: z
    .int()
    .min(1)
    .max(maxTaskIterations)
    .optional()
    .describe('Reviews before the result is taken as it is; default 5'),
  target: z
    .enum(['fleet', 'bus'])
    .optional()
    .describe('Who does it: fleet = a sub-agent here (default); bus = an external worker'),
});
export type CreateTask = z.infer<typeof CreateTask>;

export const UpdatePlugin = z.strictObject({ enabled: z.boolean() });
export type UpdatePlugin = z.infer<typeof UpdatePlugin>;

export const CallTool = z.strictObject({
  arguments: z.record(z.string(), z.unknown()).optional(),
  threadId: ThreadId.optional(),
});
export type CallTool = z.infer<typeof CallTool>;

export const RunCommand = z.strictObject({
  command: NonBlank.describe('As a person types it, e.g. "/use release-notes"'),
});
export type RunCommand = z.infer<typeof RunCommand>;
