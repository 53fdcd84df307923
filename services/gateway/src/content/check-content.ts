/** `npm run content -- check <folder>`: what of a folder loads, with which tools, and why the rest does not. */
import { type Agent, loadAgents, loadSkills, type Skill } from '@harness/plugins';
import { ConfigError, parseOptions, runMain } from '@harness/runtime';

const usage = 'Usage: npm run content -- check <folder> [--json]';

runMain(async () => {
  const [command, folder = '', ...options] = process.argv.slice(2);
  if (command !== 'check' || folder === '' || folder.startsWith('-')) throw new ConfigError(usage);
  const values = parseOptions(options, { json: { type: 'boolean', default: false } }, usage);
  const [skills, agents] = await Promise.all([
    loadSkills(folder, { code: false, workspaces: true }),
    loadAgents(folder, { workspaces: true }),
  ]);
  const found = { skills: skills.loaded, agents: agents.loaded };
  const problems = [...skills.diagnostics, ...agents.diagnostics];
  const errors = problems.filter(({ level }) => level === 'error');
  if (values.json) write(JSON.stringify(summaryOf(found, problems), undefined, 2));
  else print(found, problems);
  process.exit(errors.length > 0 ? 1 : 0);
});

interface Found {
  skills: readonly Skill[];
  agents: readonly Agent[];
}
type Problems = Awaited<ReturnType<typeof loadSkills>>['diagnostics'];

const write = (text: string) => void process.stdout.write(`${text}\n`);

const toolsOf = (names: readonly string[] | undefined) =>
  names === undefined ? 'all tools' : names.join(', ') || 'no tool';

function summaryOf({ skills, agents }: Found, diagnostics: Problems) {
  return {
    skills: skills.map(({ name, kind, place, allowedTools }) => ({
      name,
      kind,
      place,
      tools: allowedTools ?? null,
    })),
    agents: agents.map(({ name, place, tools }) => ({ name, place, tools: tools ?? null })),
    diagnostics,
  };
}

function print({ skills, agents }: Found, problems: Problems): void {
  const rows = [
    ...skills.map(({ kind, name, allowedTools }) => [kind, name, toolsOf(allowedTools)]),
    ...agents.map(({ name, tools }) => ['agent', name, toolsOf(tools)]),
  ];
  const width = Math.max(0, ...rows.map(([, name = '']) => name.length));
  for (const [kind = '', name = '', tools] of rows)
    write(`${kind.padEnd(7)}  ${name.padEnd(width)}  ${tools}`);
  if (problems.length > 0) write('');
  for (const { level, message } of problems) write(`${level.padEnd(7)}  ${message}`);
  const count = (kind: Skill['kind']) => skills.filter((one) => one.kind === kind).length;
  const errors = problems.filter(({ level }) => level === 'error').length;
  write(
    `\n${count('skill')} skills, ${count('command')} commands, ${agents.length} agents load; ${errors} errors, ${problems.length - errors} warnings`,
  );
}
