/** MCP servers that others have published, through a gateway: what they offer and answer is what they offer and answer directly. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../../fixture.ts';
import { clientAt, directClient, fileOf, serverOf, untilReady } from '../../published-servers.ts';

test('server-everything: lists and results are equal, direct and through the gateway, in both eras', async () => {
  const everything = serverOf('everything', 'stdio');
  const gateway = await openGateway({ upstreams: fileOf({ everything }), unprefixed: ['everything'] });
  const direct = await directClient(everything);
  await untilReady(gateway, ['everything']);
  for (const mode of ['auto', 'legacy'] as const) {
    const through = await clientAt(gateway.url, mode);
    // How to call a tool as a task of 2025-11-25 is the gateway's concern.
    const ownTools = (await direct.listTools()).tools.map(({ execution: _, ...tool }) => tool);
    const tools = (await through.listTools()).tools.filter(({ name }) => !name.includes('__'));
    expect(tools).toEqual(ownTools);
    expect(ownTools.length).toBeGreaterThan(5);
    const { resources } = await direct.listResources();
    expect((await through.listResources()).resources).toEqual(expect.arrayContaining(resources));
    const { resourceTemplates } = await direct.listResourceTemplates();
    expect((await through.listResourceTemplates()).resourceTemplates).toEqual(
      expect.arrayContaining(resourceTemplates),
    );
    expect((await through.listPrompts()).prompts).toEqual(
      (await direct.listPrompts()).prompts.map((prompt) => ({ arguments: [], ...prompt })),
    );

    for (const [name, args] of [
      ['echo', { message: 'hello' }],
      ['get-sum', { a: 1, b: 2 }],
      ['get-tiny-image', {}],
      ['get-structured-content', { location: 'New York' }],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-resource-links', { count: 3 }],
    ] as const) {
      const called = { name, arguments: args };
      expect(await through.callTool(called)).toMatchObject(await direct.callTool(called));
    }
    const [resource] = resources;
    if (!resource) throw new Error('no resource');
    expect(await through.readResource({ uri: resource.uri })).toMatchObject(
      await direct.readResource({ uri: resource.uri }),
    );
    const text = { uri: 'demo://resource/dynamic/text/1' };
    expect((await through.readResource(text)).contents[0]).toMatchObject({
      uri: text.uri,
      mimeType: 'text/plain',
    });
    const prompt = { name: 'args-prompt', arguments: { city: 'Berlin' } };
    expect(await through.getPrompt(prompt)).toMatchObject(await direct.getPrompt(prompt));
    const completion = {
      ref: { type: 'ref/prompt' as const, name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    };
    expect((await through.complete(completion)).completion).toEqual(
      (await direct.complete(completion)).completion,
    );
  }
});

test('server-filesystem and server-memory work, under their names', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'files-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'note.txt'), 'the note');
  const upstreams = fileOf({
    Files: serverOf('filesystem', folder),
    'my memory': { ...serverOf('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } },
  });
  const gateway = await openGateway({ upstreams });
  await untilReady(gateway, ['files', 'my-memory']);
  const client = await clientAt(gateway.url);
  const read = await client.callTool({
    name: 'files__read_text_file',
    arguments: { path: join(folder, 'note.txt') },
  });
  expect(read).toMatchObject({ content: [{ text: 'the note' }] });
  const outside = await client.callTool({
    name: 'files__read_text_file',
    arguments: { path: '/etc/passwd' },
  });
  expect(outside).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('outside allowed directories') }],
  });
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  await client.callTool({ name: 'my-memory__create_entities', arguments: { entities } });
  const graph = await client.callTool({ name: 'my-memory__read_graph', arguments: {} });
  expect(graph.structuredContent).toMatchObject({ entities });
});
