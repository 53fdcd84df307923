import type { Plugin } from '@harness/contracts';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, messageOf } from '../../lib/api.ts';
import { numberOf } from '../../lib/format.ts';
import { useCan } from '../../lib/session.ts';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { State } from '../../parts/state.tsx';
import { toast } from '../../parts/toast.tsx';

const columns: readonly Column<Plugin>[] = [
  {
    id: 'name',
    header: 'Plugin',
    width: 'minmax(140px, 1fr)',
    cell: ({ name }) => <strong>{name}</strong>,
    sort: ({ name }) => name,
  },
  { id: 'version', header: 'Version', width: '90px', cell: ({ version }) => version },
  { id: 'on', header: 'On', width: '250px', cell: (plugin) => <Switches plugin={plugin} /> },
  {
    id: 'state',
    header: 'State',
    width: '116px',
    cell: ({ state }) => <State is={state} />,
    sort: ({ state }) => state,
  },
  {
    id: 'runs',
    header: 'Runs in',
    width: '130px',
    cell: ({ isolation }) => (isolation === 'process' ? 'its own process' : 'the gateway'),
  },
  {
    id: 'crashes',
    header: 'Crashes',
    width: 'minmax(90px, 1fr)',
    cell: ({ crashes, lastCrash }) => (crashes === 0 ? none : `${numberOf(crashes)}: ${lastCrash ?? ''}`),
  },
  {
    id: 'tools',
    header: 'Tools',
    width: '70px',
    isNumber: true,
    cell: ({ tools }) => tools.length,
    sort: ({ tools }) => tools.length,
  },
];

/** Every plugin, on or off for the tenant and for all. */
export const PluginList = ({ plugins }: { plugins: readonly Plugin[] }): ReactNode => (
  <DataTable
    label="Plugins"
    columns={columns}
    items={plugins}
    keyOf={({ name }) => name}
    empty={<strong>No plugin</strong>}
  />
);

function Switches({ plugin: { name, enabled, disabledFor } }: { plugin: Plugin }): ReactNode {
  const can = useCan();
  const queries = useQueryClient();
  const [isActing, setActing] = useState(false);
  const set = async (on: boolean, forWhom: 'tenant' | 'all') => {
    setActing(true);
    try {
      await api('PATCH', `/v1/plugins/${name}`, { body: { enabled: on, for: forWhom } });
    } catch (error) {
      toast(messageOf(error), 'bad');
    }
    await Promise.all(['plugins', 'tools'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    setActing(false);
  };
  const isOffForAll = disabledFor === 'all';
  return (
    <span className="row">
      <label className="row">
        <input
          type="checkbox"
          checked={enabled}
          disabled={isActing || isOffForAll || !can('admin')}
          onChange={(event) => void set(event.target.checked, 'tenant')}
          aria-label={`${name} for this tenant`}
        />
        this tenant
      </label>
      {can('fleet') && (
        <label className="row">
          <input
            type="checkbox"
            checked={!isOffForAll}
            disabled={isActing}
            onChange={(event) => void set(event.target.checked, 'all')}
            aria-label={`${name} for all tenants`}
          />
          all
        </label>
      )}
    </span>
  );
}
