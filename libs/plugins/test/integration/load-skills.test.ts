import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSkills } from '../../src/skills/content/load-skills.ts';
import { readFileWithin } from '../../src/skills/content/read-file-within.ts';
import { folderOf, plain, skill } from '../../src/skills/content/test/skill-folder.ts';

test('reads every field, in both spellings, and the files beside it', async () => {
  const folder = await folderOf({
    'full/SKILL.md': skill(
      'name: full\ndescription: All of it\nuser-invocable: false\nallowed-tools: time__current_time, context__x\nargument-hint: a city\nmodel: haiku\ncontext: fork\nparameters:\n  type: object\n  properties: {city: {type: string}}\nlicense: MIT',
    ),
    'full/notes/a.md': 'a',
    'other/SKILL.md': skill(
      'name: other\ndescription: x\nuser_invocable: true\nallowed_tools: [time__current_time]\nargument_hint: y\ndisable_model_invocation: true',
    ),
  });
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(diagnostics).toEqual([]);
  expect(loaded).toMatchObject([
    {
      name: 'full',
      userInvocable: false,
      modelInvocable: true,
      allowedTools: ['time__current_time', 'context__x'],
      argumentHint: 'a city',
      model: 'haiku',
      context: 'fork',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
      instructions: 'Do it.',
      frontMatter: { license: 'MIT' },
      files: [
        { path: 'SKILL.md' },
        { path: 'notes/a.md', size: 1, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      ],
    },
    {
      name: 'other',
      userInvocable: true,
      modelInvocable: false,
      allowedTools: ['time__current_time'],
      argumentHint: 'y',
      context: 'inline',
    },
  ]);
});

test('accepts the variants of the format that other programs use', async () => {
  const folder = await folderOf({
    'a/SKILL.md': skill(
      'name: a\ndescription: x\nargument-hint: [issue-number] [priority]\nmodel: inherit\nallowed-tools: time__current_time\nallowed_tools: "*"',
    ),
  });
  await writeFile(join(folder, 'a/SKILL.md'), `\ufeff${await readFile(join(folder, 'a/SKILL.md'), 'utf8')}`);
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(diagnostics).toEqual([]);
  expect(loaded).toMatchObject([
    { argumentHint: '[issue-number] [priority]', allowedTools: ['time__current_time'] },
  ]);
  expect(loaded[0]?.model).toBeUndefined();
});

test('permission rules of Claude Code name built-in tools, whatever is in their parentheses', async () => {
  const folder = await folderOf({
    'a/SKILL.md': skill(
      'name: a\ndescription: x\nallowed-tools: Bash(git * main), Bash(jq:*) Read time__current_time Edit( *',
    ),
    'b/SKILL.md': skill('name: b\ndescription: x\nallowed-tools: ""'),
  });
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded.map(({ allowedTools }) => allowedTools)).toEqual([
    ['Bash(git * main)', 'Bash(jq:*)', 'Read', 'time__current_time', 'Edit( *'],
    [],
  ]);
  expect(diagnostics.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /"Edit\( \*" is not a name of a tool .*; "Bash\(git \* main\)", "Bash\(jq:\*\)", "Read" are for workspaces, which are off/,
    ),
  ]);
  const withWorkspaces = await loadSkills(folder, { code: false, workspaces: true });
  expect(withWorkspaces.diagnostics.map(({ message }) => message)).toEqual([
    expect.stringMatching(/"Edit\( \*" is not a name of a tool \(.*\): no effect$/),
  ]);
});

test('files beyond the limit are left out, with one diagnostic', async () => {
  const many = Object.fromEntries(Array.from({ length: 520 }, (_, n) => [`a/${n}.txt`, 'x']));
  const { loaded, diagnostics } = await loadSkills(await folderOf({ 'a/SKILL.md': plain('a'), ...many }));
  expect(loaded[0]?.files).toHaveLength(512);
  expect(diagnostics.map(({ message }) => message)).toEqual([expect.stringContaining('more than 512 files')]);
});

test.each([
  ['no front matter', 'hello', /SKILL\.md:1: it must begin with YAML front matter/],
  ['bad YAML', skill('name: bad\ndescription: [open'), /SKILL\.md:\d: bad YAML/],
  ['no description and no text', skill('name: bad', '# Bad'), /SKILL\.md:1: description: /],
  [
    'invisible characters',
    skill('name: bad\ndescription: "harmless\\u200b"'),
    /SKILL\.md:3: description: has an invisible character \(U\+200B\)/,
  ],
  [
    'a bad schema',
    skill('name: bad\ndescription: x\nparameters: {properties: {a: {type: nothing}}}'),
    /SKILL\.md:4: parameters: is not a valid JSON Schema/,
  ],
  [
    'exponential aliases',
    skill(`name: bad\ndescription: x\na: &a [1,1]\nb: &b [${'*a,'.repeat(50)}]`),
    /SKILL\.md:2: bad YAML/,
  ],
  [
    'a map within itself',
    skill('name: bad\ndescription: x\nmetadata: &a {self: *a}'),
    /SKILL\.md:2: bad YAML: .*circular/,
  ],
  [
    'arguments that are not an object',
    skill('name: bad\ndescription: x\nparameters: {type: string}'),
    /SKILL\.md:4: parameters: must describe an object/,
  ],
  [
    'a field that restricts, in its other spelling',
    skill('name: bad\ndescription: x\ndisable_model_invocation: maybe'),
    /SKILL\.md:4: disable-model-invocation: /,
  ],
  ['too large', skill('name: bad\ndescription: x', 'x'.repeat(300 * 1024)), /SKILL\.md:1: .* bytes; at most/],
])('%s is a diagnostic with file and line; the rest load', async (_what, text, message) => {
  const folder = await folderOf({
    'bad/SKILL.md': text,
    'good/SKILL.md': plain('good'),
    'README.md': 'no skill',
  });
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded.map(({ name }) => name)).toEqual(['good']);
  expect(diagnostics).toMatchObject([{ level: 'error', message: expect.stringMatching(message) }]);
  expect(diagnostics[0]?.source).toBe(join(folder, 'bad/SKILL.md'));
});

test('a name belongs to the folder of that name, otherwise to the first', async () => {
  const folder = await folderOf({
    'a/SKILL.md': skill('name: tea\ndescription: Another tea'),
    'b/SKILL.md': plain('same'),
    'c/SKILL.md': skill('name: same\ndescription: Not the same'),
    'tea/SKILL.md': plain('tea'),
  });
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded.map(({ name, place }) => [name, place])).toEqual([
    ['same', join(folder, 'b')],
    ['tea', join(folder, 'tea')],
  ]);
  expect(diagnostics.map(({ level, message }) => [level, message])).toEqual([
    ['error', `${join(folder, 'a/SKILL.md')}:2: the name "tea" is taken by ${join(folder, 'tea')}`],
    [
      'warning',
      `${join(folder, 'b/SKILL.md')}:2: name: the folder must have the same name: rename it to "same"`,
    ],
    ['error', `${join(folder, 'c/SKILL.md')}:2: the name "same" is taken by ${join(folder, 'b')}`],
  ]);
});

test('loads what is nested as published: plugins, marketplaces, .claude; each under a name of its own', async () => {
  const folder = await folderOf({
    '.claude/skills/own/SKILL.md': plain('own'),
    '.claude/commands/git/commit.md': 'Commit $ARGUMENTS.',
    'plugins/tea/skills/brew/SKILL.md': skill('name: brew\ndescription: Tea'),
    'plugins/tea/commands/brew.md': skill('description: Brews\nargument-hint: [kind]', 'Brew $1.'),
    'plugins/coffee/skills/brew/SKILL.md': skill('name: brew\ndescription: Coffee'),
    'copies/skills/own/SKILL.md': plain('own'),
    'plugins/tea/skills/brew/examples/SKILL.md': plain('example'),
    'plugins/tea/README.md': '# Tea',
    'node_modules/x/skills/foreign/SKILL.md': plain('foreign'),
    '.git/skills/hidden/SKILL.md': plain('hidden'),
  });
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded.map(({ name, kind, description }) => [name, kind, description])).toEqual([
    ['own', 'skill', 'About own'],
    ['brew', 'skill', 'Coffee'],
    ['tea-brew', 'skill', 'Tea'],
    ['commit', 'command', 'The command commit'],
    ['tea-brew-2', 'command', 'Brews'],
  ]);
  expect(diagnostics.map(({ level, message }) => [level, message.slice(folder.length + 1)])).toEqual([
    ['warning', expect.stringMatching(/^copies\/skills\/own\/SKILL.md:2: "own" is the same as /)],
    ['warning', expect.stringMatching(/^plugins\/tea\/skills\/brew\/SKILL.md:2: .* this one is "tea-brew"$/)],
    ['warning', expect.stringMatching(/^plugins\/tea\/commands\/brew.md:1: .* this one is "tea-brew-2"$/)],
  ]);
  expect(loaded[4]).toMatchObject({ userInvocable: true, modelInvocable: false, argumentHint: '[kind]' });
});

test('careless front matter is read as it is meant, with a warning', async () => {
  const folder = await folderOf({
    'a-b/SKILL.md': skill('name: A & B Automation\ndescription: Use it: now, or "never" # maybe'),
    'long/SKILL.md': skill(`name: long\ndescription: ${'x'.repeat(2_000)}\nmodel: 5\nuser-invocable: maybe`),
    'silent/skill.md': skill('name: silent', '# Silent\n\nDoes it without a word.'),
  });
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded).toMatchObject([
    { name: 'a-b', description: 'Use it: now, or "never" # maybe' },
    { name: 'long', description: expect.stringMatching(/^x{1023}…$/), model: undefined },
    { name: 'silent', description: 'Does it without a word.' },
  ]);
  expect(diagnostics.map(({ level }) => level)).toEqual(Array(5).fill('warning'));
});

test('text that is not UTF-8 is a diagnostic', async () => {
  const folder = await folderOf({ 'bad/SKILL.md': plain('bad') });
  await writeFile(
    join(folder, 'bad/SKILL.md'),
    Buffer.concat([Buffer.from(plain('bad')), Buffer.from([0xff])]),
  );
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded).toEqual([]);
  expect(diagnostics).toMatchObject([{ level: 'error', message: expect.stringContaining('is not UTF-8') }]);
});

test('the code of a skill is loaded again only when a file of the skill has changed', async () => {
  const code = "export const tools = [{ name: 'say', description: 'Says', schema: {}, handler: () => 'x' }];";
  const folder = await folderOf({ 'tea/SKILL.md': plain('tea'), 'tea/tools.ts': code });
  const toolsNow = async () => (await loadSkills(folder, { code: true })).loaded[0]?.tools;
  const before = await toolsNow();
  expect(before).toHaveLength(1);
  expect(await toolsNow()).toBe(before);
  await writeFile(join(folder, 'tea/tools.ts'), `${code}\n`);
  expect(await toolsNow()).not.toBe(before);
});

test('a link that points outside is left out', async () => {
  const outside = await folderOf({ 'secret.txt': 'secret', 'SKILL.md': plain('outside') });
  const folder = await folderOf({
    'c/SKILL.md': plain('c'),
    'c/own.txt': 'own',
  });
  await symlink(join(outside, 'secret.txt'), join(folder, 'c/secret.txt'));
  await symlink(join(folder, 'c/own.txt'), join(folder, 'c/alias.txt'));
  await symlink(outside, join(folder, 'd'));
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded.map(({ name }) => name)).toEqual(['c']);
  expect(loaded[0]?.files.map(({ path }) => path)).toEqual(['SKILL.md', 'alias.txt', 'own.txt']);
  expect(diagnostics.map(({ message }) => message)).toEqual([
    expect.stringContaining('secret.txt:1: secret.txt points outside its folder'),
    expect.stringContaining('the link points outside the skills folder'),
  ]);
});

test('empty fields are absent; hidden files are not read', async () => {
  const folder = await folderOf({
    'tea/SKILL.md': skill('name: tea\ndescription: x\nallowed-tools:\nmodel:'),
    'tea/.env': 'SECRET=1',
    'tea/.git/config': 'x',
  });
  await symlink('.env', join(folder, 'tea', 'notes.md'));
  const { loaded, diagnostics } = await loadSkills(folder);
  expect(loaded).toMatchObject([
    { allowedTools: undefined, model: undefined, files: [{ path: 'SKILL.md' }] },
  ]);
  expect(diagnostics.map(({ message }) => message)).toEqual([expect.stringContaining('notes.md is hidden')]);
  await expect(readFileWithin(loaded[0]?.folder ?? '', '.env')).rejects.toThrow(/hidden/);
});
