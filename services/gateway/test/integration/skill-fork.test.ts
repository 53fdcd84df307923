import { expect, test } from 'vitest';
import { connectTestRedis, type Gateway, openFakeWorker, openGateway } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';
import { openSkills, writeSkill } from '../skill-folder.ts';

async function openForking(options: { forkWaitMs?: number } = {}) {
  const folder = await openSkills();
  const front = 'context: fork\nmodel: small\nallowed-tools: time__current_time\n';
  await writeSkill(folder, 'tea', { body: 'Steep $ARGUMENTS.', front });
  const gateway = await openGateway({ skillsDirectory: folder, ...options });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  return { gateway, worker };
}
const steep = (gateway: Gateway) =>
  gateway.call('POST', '/v1/tools/skill__tea', { body: { arguments: { arguments: 'oolong' } } });

/** The next task that is created. */
async function newTask(gateway: Gateway): Promise<{ taskId: string; threadId: string }> {
  const latest = async () => (await gateway.call('GET', '/v1/tasks')).body.tasks[0];
  await expect.poll(async () => (await latest())?.status).toBe('working');
  return latest();
}

test('a sub-agent follows the skill, with its model and tools; its result is the tool result', async () => {
  const { gateway, worker } = await openForking();
  for (const end of [
    { status: 'completed', verdict: 'satisfied', result: 'steeped' },
    {
      status: 'failed',
      verdict: 'failed',
      error: JSON.stringify({ code: 'model_error', message: 'no water' }),
    },
  ]) {
    const answer = steep(gateway);
    const { taskId, threadId } = await newTask(gateway);
    const turn = await worker.begin(threadId);
    expect(turn).toMatchObject({
      kind: 'delegate',
      input: 'Steep oolong.',
      model: 'small',
      allowedTools: ['time__current_time', 'skill__tea_*'],
    });
    const task = { taskId, iteration: 1, set: end };
    await gateway.dispatch.lease.commit(turn, { status: 'success', result: 'r', task });
    expect((await answer).body).toMatchObject({
      isError: end.status === 'failed',
      content: [{ text: end.result ?? 'no water' }],
      structuredContent: { taskId, threadId, status: end.status },
    });
  }
});

test('a caller gets the task instead of its result when the wait limit is over', async () => {
  const { gateway } = await openForking({ forkWaitMs: 100 });
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const viaMcp = modernCaller({ capabilities }).call(gateway.url, 'skill__tea');
  const [rest, mcp] = await Promise.all([steep(gateway), viaMcp.then((call) => call.message())]);
  const { taskId } = rest.body.structuredContent;
  expect(rest.body).toMatchObject({ isError: false, structuredContent: { status: 'working' } });
  expect(rest.body.content[0].text).toContain(taskId);
  expect(mcp.result).toMatchObject({
    resultType: 'task',
    taskId: expect.stringMatching(/^task_/),
    status: 'working',
  });
});
