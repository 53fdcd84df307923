import { untilReached } from '@harness/dispatch';
import {
  type AgentSet,
  followAgents,
  followSkills,
  type SkillSet,
  type WorkProfiles,
} from '@harness/plugins';
import type { Changes } from './changes.ts';
import type { AppDeps } from './deps.ts';

/** What people wrote: offered here, and published for the workers, which need not have the folders. */
export async function followSkillsAndAgents(
  deps: AppDeps,
  changes: Changes,
): Promise<{ skills: SkillSet; agents: AgentSet; close(): Promise<void> }> {
  const { plugins, logger, dispatch } = deps;
  let closed = false;
  /** What is there at the start changes for nobody. */
  let started = false;
  const latest = new Map<'agents' | 'skills', WorkProfiles>();
  const publish = (kind: 'agents' | 'skills', profiles: WorkProfiles) => {
    latest.set(kind, profiles);
    return untilReached(
      () => dispatch.profiles.publish(kind, latest.get(kind) ?? profiles),
      () => closed,
    );
  };
  // A Redis that was away may have come back without what it was told last.
  const stop = dispatch.replicas.onSignal((signal) => {
    if (signal.kind !== 'missed') return;
    for (const [kind, profiles] of latest)
      publish(kind, profiles).catch((error) => logger.error({ err: error }, `${kind} not published`));
  });
  const skills = await followSkills({
    directory: deps.skillsDirectory,
    code: deps.skillsCode ?? false,
    importCode: plugins.importTools,
    forkWaitMs: deps.forkWaitMs,
    plugins,
    logger,
    async onChanged(profiles) {
      if (started) changes.tell(['tools', 'resources']);
      await publish('skills', profiles);
    },
  });
  const agents = await followAgents({
    directory: deps.agentsDirectory,
    logger,
    onChanged: (profiles) => publish('agents', profiles),
  });
  started = true;
  return {
    skills,
    agents,
    async close() {
      closed = true;
      stop();
      await Promise.all([skills.close(), agents.close()]);
    },
  };
}
