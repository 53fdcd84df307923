/**
 * The plugin `skill`: a tool `skill__<name>` for each skill, a tool that reads their files, and the files as resources. It
 * is rebuilt after every change of the folder; a running call ends with the version it started with.
 *
 * - `skill.ts`            the type of a skill and the schema of its front matter
 * - `content/`            reads the files of skills and agents
 * - `skill-code.ts`       loads `tools.ts` of a skill
 * - `follow-skills.ts`    keeps the plugin up to date with the folder
 * - `agent.ts`            the type of an agent and the schema of its front matter
 * - `follow-agents.ts`    keeps the agents up to date with the folder
 * - `follow-folder.ts`    loads a folder and reloads it after changes
 * - `follow-tree.ts`      watches a folder
 * - `folder-digest.ts`    a digest of a folder's content
 */
import { AppError, isClean } from '@harness/contracts';
import type { WorkProfile } from '@harness/dispatch';
import {
  definePlugin,
  isFor,
  type PluginContext,
  type PluginDefinition,
  type PluginResource,
  type PluginTool,
  type PluginToolMeta,
  type ToolInput,
  type ToolResult,
} from '@harness/plugin-kit';
import { followUpOf } from '../follow-up.ts';
import { fillIn } from './content/fill-in.ts';
import { mainFile } from './content/find-content.ts';
import { OutsideError, readFileWithin } from './content/read-file-within.ts';
import { readTool, rootOf, type Skill } from './skill.ts';

/** The plugin's name, and the prefix of its tools. */
export const skillPluginName = 'skill';

/** How long a call waits for its sub-agent, ms. After that it returns the ids of the task. */
const defaultForkWaitMs = 60_000;

/** Builds the plugin for these skills. */
export function skillPluginOf(
  skills: readonly Skill[],
  { forkWaitMs = defaultForkWaitMs }: { forkWaitMs?: number | undefined } = {},
): PluginDefinition {
  return definePlugin({
    name: skillPluginName,
    version: '1.0.0',
    tools:
      skills.length === 0
        ? []
        : [...skills.flatMap((skill) => toolsOf(skill, forkWaitMs)), readFileTool(skills)],
    resources: skills.filter(({ kind }) => kind === 'skill').map(manifestOf),
    resourceTemplates: [
      {
        uriTemplate: 'skill://{name}/{+path}',
        name: 'Skill file',
        description: 'A file of a skill',
        read: (_ctx, uri, ...[, { principal }]) =>
          readResource(
            skills.filter((skill) => isFor(skill, principal.tenant)),
            uri,
          ),
      },
    ],
    register: () => undefined,
  });
}

/** The resource URI of a skill's file. */
export const uriOf = ({ name }: Pick<Skill, 'name'>, path: string): string =>
  `skill://${name}/${path.split('/').map(encodeURIComponent).join('/')}`;

const toolsOf = (skill: Skill, forkWaitMs: number): PluginTool[] => {
  const tools = skill.modelInvocable ? [toolOf(skill, forkWaitMs), ...skill.tools] : skill.tools;
  return tools.map((tool) => (skill.tenants ? { ...tool, tenants: skill.tenants } : tool));
};

function toolOf(skill: Skill, forkWaitMs: number): PluginTool {
  const { name, description, argumentHint, parameters } = skill;
  const text = {
    type: 'string',
    maxLength: 100_000,
    description: argumentHint ?? 'What to apply the skill to',
  };
  return {
    name,
    title: name,
    description: `Skill: ${description}`,
    schema: parameters ?? { type: 'object', properties: { arguments: text }, additionalProperties: false },
    ...(skill.context === 'fork' ? { scope: 'tasks' } : { annotations: { readOnlyHint: true } }),
    handler: (ctx, input, meta) => {
      const instructions = renderedOf(skill, input);
      return skill.context === 'fork'
        ? fork(skill, { instructions, args: argumentsIn(input) }, { ctx, meta, forkWaitMs })
        : inline(skill, instructions, { ctx, meta });
    },
  };
}

/**
 * The tools that may be called while the skill is followed: those it names, its own, and the tool for its files.
 * Undefined = all.
 */
const toolsWithin = ({ name, allowedTools, files }: Skill): string[] | undefined =>
  allowedTools && [
    ...allowedTools,
    `${skillPluginName}__${name}_*`,
    ...(files.length > 1 ? [`${skillPluginName}__${readTool}`] : []),
  ];

/** The work profile of sessions on a thread where the skill is active. `files`: the version of its folder. */
export const profileOfSkill = (skill: Skill, files?: string): WorkProfile => ({
  files,
  instructions: renderedOf(skill, {}),
  commands: skill.commands,
  model: skill.model,
  tools: toolsWithin(skill),
  tenants: skill.tenants,
});

/** The calling session follows the skill; until its run ends it has only the tools that the skill allows. */
async function inline(
  skill: Skill,
  instructions: string,
  { ctx, meta }: { ctx: PluginContext; meta: PluginToolMeta },
): Promise<string> {
  const tools = toolsWithin(skill);
  if (tools) await ctx.tools.narrow(meta, tools);
  return instructions;
}

/** A sub-agent follows the skill, with the skill's model and tools; its result becomes the tool result. */
async function fork(
  skill: Skill,
  { instructions, args }: { instructions: string; args: string },
  { ctx, meta, forkWaitMs }: { ctx: PluginContext; meta: PluginToolMeta; forkWaitMs: number },
): Promise<ToolResult> {
  const { threadId: parentThreadId, principal, runId, toolUseId, attempt, signal } = meta;
  const { task, streamUrl } = await ctx.tasks.create({
    prompt: instructions,
    ...(skill.commands && { skill: { name: skill.name, arguments: args } }),
    model: skill.model,
    allowedTools: toolsWithin(skill),
    parentThreadId,
    principal,
    runId,
    toolUseId,
    attempt,
  });
  const { taskId, threadId } = task;
  const ended = await ctx.tasks.wait(taskId, { timeoutMs: forkWaitMs, signal });
  const isOver = ended.status !== 'working' && ended.status !== 'input_required';
  const message = isOver
    ? (ended.result ?? ended.error?.message ?? `The task ended as ${ended.status}.`)
    : `A sub-agent works on it as task ${taskId} in thread ${threadId} (events: ${streamUrl}). ${followUpOf(meta, { taskId, streamUrl })}`;
  return {
    content: [{ type: 'text', text: message }],
    structuredContent: { message, taskId, threadId, status: ended.status },
    isError: ended.status === 'failed' || ended.status === 'cancelled',
    _meta: isOver ? {} : { 'harness/taskId': taskId },
  };
}

/** The arguments of a call of a skill: its one text, or JSON where it has other parameters; '' = it is only active on a thread. */
export function argumentsIn(input: ToolInput): string {
  const { arguments: text, ...others } = input;
  if (Object.keys(others).length > 0) return JSON.stringify(input);
  return text === undefined ? '' : typeof text === 'string' ? text : JSON.stringify(input);
}

/** The skill's instructions with the arguments filled in, and the list of its files. */
export function renderedOf(skill: Skill, input: ToolInput): string {
  const args = argumentsIn(input);
  const instructions = fillIn(skill.instructions, { args, root: rootOf(skill) });
  const further = skill.files.filter(({ path }) => !mainFile.test(path));
  return [
    instructions,
    ...(args !== '' && instructions === fillIn(skill.instructions, { args: '', root: rootOf(skill) })
      ? [`ARGUMENTS: ${args}`]
      : []),
    ...(further.length > 0
      ? [
          `Files of this skill, to read with ${skillPluginName}__${readTool} (skill: "${skill.name}"); in a workspace they also lie in ${rootOf(skill)}:\n${further.map(({ path, size }) => `- ${path} (${size} bytes)`).join('\n')}`,
        ]
      : []),
  ].join('\n\n');
}

function readFileTool(skills: readonly Skill[]): PluginTool {
  const text = { type: 'string', minLength: 1, maxLength: 1_000 };
  return {
    name: readTool,
    title: 'Read a file of a skill',
    description: 'Reads a file of a skill. The instructions of the skill list its files.',
    schema: {
      type: 'object',
      properties: {
        skill: { ...text, description: 'Name of the skill' },
        path: { ...text, description: 'Path of the file, as listed' },
      },
      required: ['skill', 'path'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
    async handler(_ctx, { skill: name, path }, { principal }): Promise<ToolResult> {
      const skill = skills.find((one) => one.name === name && isFor(one, principal.tenant));
      if (!skill) throw new AppError('resource_not_found', `There is no skill "${String(name)}".`);
      const uri = uriOf(skill, String(path));
      const content = await contentOf(skill, String(path));
      return 'text' in content
        ? { content: [{ type: 'text', text: content.text }] }
        : { content: [{ type: 'resource', resource: { uri, ...content } }] };
    },
  };
}

function manifestOf(skill: Skill): PluginResource {
  const uri = uriOf(skill, 'SKILL.md');
  return {
    uri,
    name: skill.name,
    ...(skill.tenants && { tenants: skill.tenants }),
    description: skill.description,
    mimeType: 'text/markdown',
    read: async () => [{ uri, mimeType: 'text/markdown', ...exactly(await contentOf(skill, 'SKILL.md')) }],
  };
}

/** Reads a skill's file by its resource URI. Throws `resource_not_found`. */
export async function readResource(skills: readonly Skill[], uri: string) {
  for (const skill of skills) {
    const file = skill.files.find(({ path }) => uriOf(skill, path) === uri);
    if (!file) continue;
    const mimeType = file.path.endsWith('.md') ? 'text/markdown' : undefined;
    return [{ uri, ...(mimeType && { mimeType }), ...exactly(await contentOf(skill, file.path)) }];
  }
  throw new AppError('resource_not_found', `There is no resource "${uri}".`, { details: { uri } });
}

/** A resource’s text is cleaned; a file that this would change is sent as bytes, so that its digest stays right. */
const exactly = (content: { text: string } | { blob: string }) =>
  'text' in content && !isClean(content.text)
    ? { blob: Buffer.from(content.text, 'utf8').toString('base64') }
    : content;

/** The listed path of a file that instructions name with the skill's folder before it, or with other upper and lower case. */
function listedPathOf(skill: Skill, asked: string): string {
  const path = asked.startsWith(`${rootOf(skill)}/`) ? asked.slice(rootOf(skill).length + 1) : asked;
  if (skill.files.some((file) => file.path === path)) return path;
  const alike = skill.files.filter((file) => file.path.toLowerCase() === path.toLowerCase());
  return alike.length === 1 ? (alike[0]?.path ?? path) : path;
}

async function contentOf(skill: Skill, asked: string): Promise<{ text: string } | { blob: string }> {
  const path = listedPathOf(skill, asked);
  const bytes = await readFileWithin(skill.folder, path).catch((error: Error) => {
    const message = error instanceof OutsideError ? `there is no file ${path}` : error.message;
    throw new AppError('resource_not_found', `${skill.name}: ${message}.`);
  });
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? { text } : { blob: bytes.toString('base64') };
}
