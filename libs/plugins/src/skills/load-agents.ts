/**
 * Reads an agents folder: one Markdown file per agent. A file with an error becomes a diagnostic with file and line, and
 * the other files load.
 */
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';
import { type Agent, AgentFields } from './agent.ts';
import { fieldsOf, lineOf } from './front-matter.ts';
import { levelOf, readTextWithin } from './read-file-within.ts';
import { foreignNames } from './skill.ts';

/** Reads the folder. Never rejects because of its content. */
export async function loadAgents(directory: string): Promise<{ loaded: Agent[]; diagnostics: Diagnostic[] }> {
  const diagnostics: Diagnostic[] = [];
  const loaded = new Map<string, Agent>();
  const reporterOf =
    (file: string): Report =>
    (line, message, level = 'error') => {
      diagnostics.push({ source: file, level, message: `${file}:${line}: ${message}` });
    };
  let folder: string;
  let names: string[];
  try {
    folder = await realpath(directory);
    names = await readdir(folder);
  } catch (error) {
    reporterOf(directory)(1, `the agents folder cannot be read: ${(error as Error).message}`, levelOf(error));
    return { loaded: [], diagnostics };
  }
  for (const name of names.sort()) {
    if (name.startsWith('.') || !name.endsWith('.md') || name.toLowerCase() === 'readme.md') continue;
    const report = reporterOf(join(directory, name));
    const agent = await loadAgent(folder, name, report);
    if (!agent) continue;
    const known = loaded.get(agent.name);
    if (known) report(1, `the name "${agent.name}" is taken by ${known.place}`);
    else loaded.set(agent.name, { ...agent, place: join(directory, name) });
  }
  return { loaded: [...loaded.values()], diagnostics };
}

type Report = (line: number, message: string, level?: Diagnostic['level']) => void;

async function loadAgent(
  folder: string,
  name: string,
  report: Report,
): Promise<Omit<Agent, 'place'> | undefined> {
  try {
    const text = await readTextWithin(folder, name);
    const parsed = fieldsOf(text, AgentFields);
    if (Array.isArray(parsed)) {
      for (const { line, message } of parsed) report(line, message);
      return undefined;
    }
    const { fields, frontMatter } = parsed;
    for (const foreign of foreignNames(fields.tools))
      report(lineOf(text, 'tools'), `tools: ${foreign}`, 'warning');
    const { name: agentName, description, model, tools, tenants } = fields;
    return { name: agentName, description, model, tools, tenants, instructions: frontMatter.body.trim() };
  } catch (error) {
    report(1, (error as Error).message, levelOf((error as Error).cause));
    return undefined;
  }
}
