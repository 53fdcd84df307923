import type { Agent } from './agent.ts';
import { loadAgents } from './content/load-agents.ts';
import { folderDigestOf } from './folder-digest.ts';
import { emptyFolder, type Followed, followFolder } from './follow-folder.ts';
import type { Following } from './follow-skills.ts';

/** The agents that are loaded now. */
export type AgentSet = Followed<Agent>;

/** Loads the agents of a folder, and again after each change. Without a folder there are none. */
export async function followAgents({
  directory,
  workspaces,
  logger,
  onChanged,
}: Following): Promise<AgentSet> {
  if (directory === undefined) return emptyFolder;
  return followFolder<Agent>({
    directory,
    what: 'agents',
    logger,
    load: (folder) => loadAgents(folder, { workspaces }),
    onChanged: (agents) =>
      onChanged(
        new Map(
          agents.map(({ name, instructions, model, tools, tenants }) => [
            name,
            { instructions, model, tools, tenants },
          ]),
        ),
        folderDigestOf(agents),
      ),
  });
}
