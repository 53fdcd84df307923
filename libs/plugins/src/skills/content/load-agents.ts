/**
 * Reads the agents of a folder: a Markdown file each, nested as their authors publish them. A file with an error becomes a
 * diagnostic with file and line, and the other files load.
 */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';
import { type Agent, AgentFields } from '../agent.ts';
import { foreignNames } from '../skill.ts';
import { findContent, groupOf } from './find-content.ts';
import { fieldsOf, lineOf } from './front-matter.ts';
import { lenient, slugOf } from './lenient.ts';
import { levelOf, readTextWithin } from './read-file-within.ts';

/** Reads the folder. Never rejects because of its content. */
export async function loadAgents(
  directory: string,
  { workspaces = false }: { workspaces?: boolean } = {},
): Promise<{ loaded: Agent[]; diagnostics: Diagnostic[] }> {
  const diagnostics: Diagnostic[] = [];
  const loaded = new Map<string, Agent>();
  const reporterOf =
    (file: string): Report =>
    (line, message, level = 'error') => {
      diagnostics.push({ source: file, level, message: `${file}:${line}: ${message}` });
    };
  let folder: string;
  let paths: string[];
  try {
    folder = await realpath(directory);
    const found = await findContent(folder);
    paths = found.documents;
    if (found.isCut) reporterOf(directory)(1, 'there is more below this folder than is searched', 'warning');
  } catch (error) {
    reporterOf(directory)(1, `the agents folder cannot be read: ${(error as Error).message}`, levelOf(error));
    return { loaded: [], diagnostics };
  }
  for (const path of paths) {
    const report = reporterOf(join(directory, path));
    const agent = await loadAgent(folder, path, { report, workspaces });
    if (!agent) continue;
    const group = groupOf(path);
    const second = group === undefined ? undefined : slugOf(`${group}-${agent.name}`);
    const known = loaded.get(agent.name);
    const name = known && second && !loaded.has(second) ? second : agent.name;
    if (known && name !== second) report(1, `the name "${agent.name}" is taken by ${known.place}`);
    else loaded.set(name, { ...agent, name, place: join(directory, path) });
    if (known && name === second)
      report(1, `the name "${agent.name}" is taken by ${known.place}: this one is "${name}"`, 'warning');
  }
  return { loaded: [...loaded.values()], diagnostics };
}

type Report = (line: number, message: string, level?: Diagnostic['level']) => void;

/** Documents about a folder, which are no agents. */
const aboutFolder = /^(readme|changelog|contributing|license|claude|agents|security|code_of_conduct)\b/i;

/** Undefined: it is no agent, or it has an error, which is reported. */
async function loadAgent(
  folder: string,
  path: string,
  { report, workspaces }: { report: Report; workspaces: boolean },
): Promise<Omit<Agent, 'place'> | undefined> {
  const file = basename(path);
  if (aboutFolder.test(file)) return undefined;
  // In other folders a Markdown file is an agent only if it has an agent's front matter.
  const isExpected = path.split('/').includes('agents');
  try {
    const text = await readTextWithin(join(folder, dirname(path)), file);
    const parsed = fieldsOf(text, AgentFields, lenient({ name: file.replace(/\.md$/i, '') }));
    if (Array.isArray(parsed)) {
      const level = isExpected || looksLikeAgent(text) ? 'error' : 'warning';
      if (level === 'error' || dirname(path) === '.')
        for (const { line, message } of parsed) report(line, message, level);
      return undefined;
    }
    const { fields, frontMatter, notes } = parsed;
    if (!isExpected && !looksLikeAgent(text)) return undefined;
    for (const { line, message } of notes) report(line, message, 'warning');
    const foreign = foreignNames(fields.tools, workspaces);
    if (foreign) report(lineOf(text, 'tools'), `tools: ${foreign}`, 'warning');
    const { name, description, model, tools, tenants } = fields;
    return { name, description, model, tools, tenants, instructions: frontMatter.body.trim() };
  } catch (error) {
    report(1, (error as Error).message, levelOf((error as Error).cause));
    return undefined;
  }
}

/** Whether a document has the front matter of an agent. */
const looksLikeAgent = (text: string): boolean =>
  /^\ufeff?---[ \t]*\r?\n(?:(?!---).*\r?\n)*?name:/.test(text);
