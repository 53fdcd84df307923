/** Tools of upstreams that work as tasks, in both eras, for callers with and without tasks. */
import { expect, test } from 'vitest';
import { type Gateway, openGateway, probe } from '../../fixture.ts';
import { modernCaller } from '../../mcp-wire.ts';
import { createPlay } from '../../play-plugin.ts';
import { clientAt, fileOf, serverOf, untilReady } from '../../published-servers.ts';

const knowing = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const research = 'everything__simulate-research-query';

/** A client with the tasks extension at a gateway. */
function taskClient({ url }: Gateway) {
  const client = modernCaller({ capabilities: knowing });
  const about = async (method: string, params: { taskId: string; [field: string]: unknown }) =>
    (await client.request(url, `tasks/${method}`, { params })).message();
  return {
    about,
    async start(name: string, args: object): Promise<string> {
      const { result } = await (await client.call(url, name, { args })).message();
      expect(result).toMatchObject({ resultType: 'task', status: 'working' });
      return result.taskId;
    },
    get: async (taskId: string) => (await about('get', { taskId })).result,
    async until(taskId: string, status: string) {
      const now = async () => (await about('get', { taskId })).result.status;
      await expect.poll(now, { timeout: 15_000 }).toBe(status);
      return (await about('get', { taskId })).result;
    },
  };
}

test('a tool of 2025-11-25 that works only as a task: others wait for its result, with progress; a client with tasks gets one', {
  timeout: 60_000,
}, async () => {
  const upstreams = fileOf({ everything: serverOf('everything', 'stdio') });
  const gateway = await openGateway({ upstreams, plugins: [probe] });
  await untilReady(gateway, ['everything']);
  const client = await clientAt(gateway.url, 'legacy');
  const said: unknown[] = [];
  const [waited, rest, taskId] = await Promise.all([
    client.callTool(
      { name: research, arguments: { topic: 'bees' } },
      { onprogress: ({ message }) => void said.push(message) },
    ),
    gateway.call('POST', `/v1/tools/${research}`, { body: { arguments: { topic: 'ants' } } }),
    taskClient(gateway).start(research, { topic: 'wasps' }),
  ]);
  const report = (topic: string) => [{ text: expect.stringContaining(`Research Report: ${topic}`) }];
  expect(waited).toMatchObject({ content: report('bees') });
  expect(waited._meta ?? {}).toEqual({});
  expect(said).toEqual(expect.arrayContaining(['Generating report...']));
  expect(rest.body).toMatchObject({ isError: false, content: report('ants') });
  const ended = await taskClient(gateway).until(taskId, 'completed');
  expect(ended).toMatchObject({ result: { content: report('wasps') } });
});

/** A gateway with another one, of 2026-07-28, as its upstream `b`. */
async function openTwo() {
  const play = createPlay('behind');
  const behind = await openGateway({ plugins: [play.plugin, probe] });
  const gateway = await openGateway({ upstreams: fileOf({ b: { url: `${behind.url}/mcp` } }), plugins: [] });
  await untilReady(gateway, ['b']);
  return { play, gateway };
}

test('tasks of an upstream of 2026-07-28 reach clients as tasks, with their questions', async () => {
  const { play, gateway } = await openTwo();
  const client = taskClient(gateway);
  const job = await client.start('b__play__job', {});
  expect(await client.get(job)).toMatchObject({ status: 'working' });
  play.go();
  expect(await client.until(job, 'completed')).toMatchObject({
    result: { content: [{ text: 'done at behind' }] },
  });

  const asking = await client.start('b__play__asking-job', {});
  const { inputRequests } = await client.until(asking, 'input_required');
  expect(inputRequests).toMatchObject({ who: { method: 'elicitation/create', params: { message: 'Who?' } } });
  const who = { action: 'accept', content: { name: 'Ada' } };
  await client.about('update', { taskId: asking, inputResponses: { who } });
  expect(await client.until(asking, 'completed')).toMatchObject({
    result: { content: [{ text: `${JSON.stringify(who)} at behind` }] },
  });
});

test('a task of an upstream is cancelled with its call', async () => {
  const { play, gateway } = await openTwo();
  const client = taskClient(gateway);
  const [started, aborted] = [play.next('started'), play.next('aborted')];
  const long = await client.start('b__play__long', {});
  await started;
  await client.about('cancel', { taskId: long });
  expect(await aborted).toMatchObject({ place: 'behind' });
  expect(await client.get(long)).toMatchObject({ status: 'cancelled' });
});

test('callers without tasks wait for a task of an upstream of 2026-07-28, and answer its questions', async () => {
  const { play, gateway } = await openTwo();
  play.go();
  const called = await gateway.call('POST', '/v1/tools/b__play__job', { body: { arguments: {} } });
  expect(called.body).toMatchObject({ isError: false, content: [{ text: 'done at behind' }] });
  for (const mode of ['auto', 'legacy'] as const) {
    const client = await clientAt(gateway.url, mode, {
      who: async () => ({ action: 'accept', content: { name: 'Ada' } }),
    });
    expect(await client.callTool({ name: 'b__play__asking-job', arguments: {} })).toMatchObject({
      content: [{ text: expect.stringContaining('"name":"Ada"') }],
    });
  }
});
