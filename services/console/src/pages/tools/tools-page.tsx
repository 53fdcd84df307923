/**
 * The page of tools: all that agents can call, and what is wrong with the rest.
 *
 * This folder:
 *   use-tools.ts    tools, plugins, skills and the tool lock
 *   tool-panel.tsx  one tool, and a form to try it
 *   plugin-list.tsx plugins, on or off
 *   lock-list.tsx   differences from the tool lock
 */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import type { Diagnostic } from '../../lib/diagnostic.ts';
import { bytesOf, lineOf, numberOf } from '../../lib/format.ts';
import { useCan } from '../../lib/session.ts';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Chip, State } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { LockList } from './lock-list.tsx';
import { PluginList } from './plugin-list.tsx';
import { ToolPanel } from './tool-panel.tsx';
import './tools.css';
import { type Skill, type Tool, useTools } from './use-tools.ts';

const tabs = [
  ['tools', 'Tools'],
  ['plugins', 'Plugins'],
  ['skills', 'Skills'],
  ['lock', 'Lock'],
  ['diagnostics', 'Diagnostics'],
] as const;
type View = (typeof tabs)[number][0];

const toolColumns: readonly Column<Tool>[] = [
  {
    id: 'name',
    header: 'Tool',
    width: 'minmax(200px, 1fr)',
    cell: ({ name }) => <span className="mono cut">{name}</span>,
    sort: ({ name }) => name,
  },
  {
    id: 'about',
    header: 'Description',
    width: 'minmax(220px, 3fr)',
    cell: ({ description }) => lineOf(description),
  },
  { id: 'hints', header: 'Hints', width: '150px', cell: ({ annotations }) => <Hints {...annotations} /> },
];

function Hints({
  readOnlyHint,
  destructiveHint,
}: {
  readOnlyHint?: unknown;
  destructiveHint?: unknown;
}): ReactNode {
  if (readOnlyHint === true) return <Chip tone="good">reads only</Chip>;
  return destructiveHint === true ? <Chip tone="warn">destructive</Chip> : null;
}

const skillColumns: readonly Column<Skill>[] = [
  {
    id: 'name',
    header: 'Skill',
    width: 'minmax(140px, 1fr)',
    cell: ({ name }) => <strong>{name}</strong>,
    sort: ({ name }) => name,
  },
  {
    id: 'about',
    header: 'Description',
    width: 'minmax(220px, 3fr)',
    cell: ({ description }) => lineOf(description),
  },
  {
    id: 'who',
    header: 'Called by',
    width: '150px',
    cell: ({ userInvocable, modelInvocable }) =>
      [modelInvocable && 'agents', userInvocable && 'people'].filter(Boolean).join(', ') || none,
  },
  {
    id: 'context',
    header: 'Runs',
    width: '120px',
    cell: ({ context }) => (context === 'fork' ? 'in a sub-agent' : 'in the thread'),
  },
  {
    id: 'files',
    header: 'Files',
    width: '120px',
    isNumber: true,
    cell: ({ files }) => `${files.length}, ${bytesOf(files.reduce((sum, { size }) => sum + size, 0))}`,
  },
];

const diagnosticColumns: readonly Column<Diagnostic & { index: number }>[] = [
  {
    id: 'level',
    header: 'Level',
    width: '110px',
    cell: ({ level }) => (
      <State
        is={level}
        tone={level === 'error' ? 'bad' : 'warn'}
        label={level === 'error' ? 'not loaded' : 'warning'}
      />
    ),
  },
  {
    id: 'source',
    header: 'Source',
    width: 'minmax(180px, 1fr)',
    cell: ({ source }) => <span className="mono">{source}</span>,
  },
  {
    id: 'message',
    header: 'Message',
    width: 'minmax(300px, 3fr)',
    cell: ({ message }) => <span title={message}>{lineOf(message, 400)}</span>,
  },
];

interface ToolSearch {
  view?: View;
  tool?: string;
}

/** Everything that agents can call, and what is wrong with the rest. */
export default function ToolsPage(): ReactNode {
  const { view = 'tools', tool: chosen } = useSearch({ strict: false }) as ToolSearch;
  const navigate = useNavigate();
  const can = useCan();
  const { tools, plugins, skills, lock, diagnostics, error } = useTools(can);
  const [text, setText] = useState('');
  const set = (search: ToolSearch) => void navigate({ to: '/tools', search, replace: true });
  const shown = useMemo(() => {
    const wanted = text.toLowerCase();
    return (tools ?? []).filter(({ name, description }) =>
      `${name}\n${description}`.toLowerCase().includes(wanted),
    );
  }, [tools, text]);
  const problems = useMemo(() => diagnostics.map((one, index) => ({ ...one, index })), [diagnostics]);
  const found = tools?.find(({ name }) => name === chosen);
  return (
    <div className="page">
      <PageHead
        title="Tools"
        facts={
          <>
            <span className="muted">
              {tools &&
                `${numberOf(tools.length)} tools of ${numberOf(plugins.length)} plugins, ${numberOf(skills.length)} skills`}
            </span>
            {diagnostics.length > 0 && <Chip tone="warn">{diagnostics.length} diagnostics</Chip>}
          </>
        }
      />
      {error && <Failure error={error} />}
      <Tabs<View>
        label="Views of the tools"
        tabs={tabs}
        value={view}
        onChange={(next) => set(next === 'tools' ? {} : { view: next })}
      >
        {view === 'tools' && (
          <>
            <div className="filters">
              <SearchField
                label="Filter the tools"
                placeholder="Filter by name or description"
                value={text}
                onChange={setText}
              />
            </div>
            <div className="split">
              {tools && (
                <DataTable
                  label="Tools"
                  columns={toolColumns}
                  items={shown}
                  keyOf={({ name }) => name}
                  selected={chosen}
                  onOpen={({ name }) => set({ tool: name })}
                  empty={<strong>No tool{text ? ' fits' : ''}</strong>}
                />
              )}
              {found && <ToolPanel key={found.name} tool={found} onClose={() => set({})} />}
            </div>
          </>
        )}
        {view === 'plugins' && <PluginList plugins={plugins} />}
        {view === 'skills' && (
          <DataTable
            label="Skills"
            columns={skillColumns}
            items={skills}
            keyOf={({ name }) => name}
            empty={
              <>
                <strong>No skill</strong>A skill is a folder with a SKILL.md in HARNESS_SKILLS_DIR.
              </>
            }
          />
        )}
        {view === 'lock' && <LockList lock={lock} />}
        {view === 'diagnostics' && (
          <DataTable
            label="Diagnostics"
            columns={diagnosticColumns}
            items={problems}
            keyOf={({ index }) => String(index)}
            empty={<strong>Everything loaded</strong>}
          />
        )}
      </Tabs>
    </div>
  );
}
