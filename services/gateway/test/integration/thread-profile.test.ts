import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway } from '../fixture.ts';
import { openSkills } from '../skill-folder.ts';

test('a thread keeps its active skill until it is ended; an unknown skill is refused', async () => {
  const gateway = await openGateway({ skillsDirectory: await openSkills(['tea']) });
  const { body: thread } = await gateway.call('POST', '/v1/threads', { body: {} });
  expect(thread).toMatchObject({ agent: null, skill: null });
  const path = `/v1/threads/${thread.threadId}`;
  expect((await gateway.call('PATCH', path, { body: { skill: 'tea' } })).body).toMatchObject({
    skill: 'tea',
  });
  const refused = await gateway.call('PATCH', path, { body: { skill: 'coffee', model: 'large' } });
  expect([refused.status, refused.body.error.code]).toEqual([404, 'skill_not_found']);
  expect((await gateway.call('GET', path)).body).toMatchObject({ skill: 'tea', model: null });
  expect((await gateway.call('PATCH', path, { body: { skill: null } })).body.skill).toBeNull();
});

test('a skill cannot be activated while its plugin is disabled', async () => {
  const gateway = await openGateway({ skillsDirectory: await openSkills(['tea']) });
  const { body: thread } = await gateway.call('POST', '/v1/threads', { body: {} });
  const use = async () =>
    (await gateway.call('PATCH', `/v1/threads/${thread.threadId}`, { body: { skill: 'tea' } })).status;
  await gateway.call('PATCH', '/v1/plugins/skill', { body: { enabled: false } });
  await expect.poll(use).toBe(404);
  await gateway.call('PATCH', '/v1/plugins/skill', { body: { enabled: true } });
  await expect.poll(use).toBe(200);
});

test('an unknown agent is refused, and no thread is created', async () => {
  const gateway = await openGateway({ keys: [keyFor('key')] });
  const call = (method: string, path: string, body?: object) =>
    gateway.call(method, path, { body, headers: bearer('key') });
  const { body: thread } = await call('POST', '/v1/threads', {});
  for (const [method, path] of [
    ['POST', '/v1/threads'],
    ['PATCH', `/v1/threads/${thread.threadId}`],
  ] as const) {
    const { status, body } = await call(method, path, { agent: 'nobody' });
    expect([status, body.error.code]).toEqual([404, 'agent_not_found']);
  }
  expect((await call('GET', '/v1/threads?metadata=true')).body.threads).toEqual([thread]);
});
