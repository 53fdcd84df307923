/** Two gateways whose folders of skills and agents are not the same. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { connectTestRedis, type Gateway, openGateway } from '../fixture.ts';
import { openAgents, openSkills, writeAgent, writeSkill } from '../skill-folder.ts';

const folderChecking = { everyMs: 50, graceMs: 300 };

async function messagesOf(gateway: Gateway, kind: 'skills' | 'agents'): Promise<string[]> {
  const { diagnostics } = (await gateway.call('GET', `/v1/${kind}`)).body;
  return (diagnostics as { message: string }[]).map(({ message }) => message);
}
const gaugeOf = async (gateway: Gateway, kind: string) =>
  new RegExp(`^harness_gateways_with_other_folders\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(
    (await gateway.call('GET', '/metrics')).body,
  )?.[1];

/** A logger and the warnings that it got. */
function openLog() {
  const warnings: string[] = [];
  const logger = createLogger('test', 'silent');
  logger.level = 'warn';
  logger.warn = ((line: unknown) => void warnings.push(String(line))) as typeof logger.warn;
  return { logger, warnings };
}

test('different folders are reported at both gateways, and sessions keep those of the one that started last', async () => {
  // A separate Redis, because connections are cut below.
  const data = await mkdtemp(join(tmpdir(), 'harness-folders-'));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const { url: redisUrl, close } = await startEmbeddedRedis(data);
  onTestFinished(close);
  const tag = randomUUID();
  const [one, other] = [openLog(), openLog()];
  const agents = await openAgents({ clerk: '' });
  const otherAgents = await openAgents({ scout: '' });
  const first = await openGateway({
    redisUrl,
    tag,
    agentsDirectory: agents,
    folderChecking,
    logger: one.logger,
  });
  const second = await openGateway({
    redisUrl,
    tag,
    agentsDirectory: otherAgents,
    folderChecking,
    logger: other.logger,
  });
  const redis = connectTestRedis(redisUrl);
  const published = () => redis.hkeys(first.dispatch.keys.of('profiles', 'agents'));
  expect(await published()).toEqual(['scout']);

  const nameOf = ({ dispatch }: Gateway) => dispatch.replicas.id;
  await expect
    .poll(() => messagesOf(first, 'agents'))
    .toEqual([
      expect.stringMatching(
        `This gateway \\(${nameOf(first)}, .*:${agents}\\) and gateway ${nameOf(second)} \\(.*:${otherAgents}\\) have different agents\\. Sessions use the agents of the other gateway;`,
      ),
    ]);
  await expect
    .poll(() => messagesOf(second, 'agents'))
    .toEqual([expect.stringContaining('Sessions do not use the agents of the other gateway')]);
  expect([await gaugeOf(first, 'agents'), await gaugeOf(first, 'skills')]).toEqual(['1', '0']);
  expect(await published()).toEqual(['scout']);
  const different = (line: string) => line.includes('different agents');
  expect(one.warnings.filter(different)).toEqual(await messagesOf(first, 'agents'));
  expect(other.warnings.filter(different)).toEqual([]);

  // A reconnection does not put the losing folder into effect; a change does.
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await writeAgent(agents, 'judge');
  await expect.poll(published).toEqual(['clerk', 'judge']);
  await writeAgent(otherAgents, 'clerk');
  await expect.poll(published).toEqual(['clerk', 'scout']);

  await second.app.close();
  await second.dispatch.close();
  await expect.poll(published).toEqual(['clerk', 'judge']);
  await expect.poll(() => messagesOf(first, 'agents')).toEqual([]);
  expect(await gaugeOf(first, 'agents')).toBe('0');
});

test('equal content in two folders is no difference, and a short difference is not reported', async () => {
  const tag = randomUUID();
  const [skills, copy] = [await openSkills(['tea']), await openSkills(['tea'])];
  const open = (skillsDirectory: string, graceMs: number) =>
    openGateway({ tag, skillsDirectory, folderChecking: { everyMs: 50, graceMs } });
  const gateways = [await open(skills, 0), await open(copy, 0)];
  const redis = connectTestRedis();
  /** Resolves when this gateway has compared the folders again, which restores its entry. */
  const looks = async ({ dispatch: { keys, replicas } }: Gateway) => {
    await redis.hdel(keys.of('folders', 'skills'), replicas.id);
    await expect.poll(() => redis.hexists(keys.of('folders', 'skills'), replicas.id)).toBe(1);
  };
  for (const gateway of [...gateways, ...gateways]) await looks(gateway);
  for (const gateway of gateways) expect(await messagesOf(gateway, 'skills')).toEqual([]);

  const edited = await open(await openSkills(['tea', 'coffee']), 60_000);
  for (const gateway of gateways)
    await expect
      .poll(() => messagesOf(gateway, 'skills'))
      .toEqual([expect.stringContaining('different skills')]);
  await looks(edited);
  expect(await messagesOf(edited, 'skills')).toEqual([]);
  for (const folder of [skills, copy]) await writeSkill(folder, 'coffee');
  for (const gateway of gateways) await expect.poll(() => messagesOf(gateway, 'skills')).toEqual([]);
});
