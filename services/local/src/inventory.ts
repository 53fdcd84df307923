/** The list of plugins and workers that `npm start` prints. */
import type { GatewayReady, WorkerReady } from './fleet.ts';

/** Tools per plugin that are named; the rest is counted. */
const maxNamed = 6;
const toolsIn = (tools: readonly string[]) => {
  if (tools.length === 0) return 'no tools';
  const more = tools.length - maxNamed;
  return `${tools.slice(0, maxNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

/** One line per plugin, the total number of tools, and one line per worker. */
export function inventoryOf({ plugins }: GatewayReady, workers: readonly WorkerReady[]): string {
  const width = Math.max(0, ...plugins.map(({ name, version }) => `${name} ${version}`.length));
  const lines = plugins.map(
    ({ name, version, tools }) => `${`${name} ${version}`.padEnd(width)}  ${toolsIn(tools)}`,
  );
  const total = plugins.reduce((sum, { tools }) => sum + tools.length, 0);
  const ready = workers.map(
    ({ workerId, maxSessions, url }) =>
      `${workerId} is ready for ${maxSessions} sessions${url ? `; ${url}/metrics` : ''}`,
  );
  return [
    ...lines.map((line, at) => `  ${at === 0 ? 'Plugins' : '       '}   ${line}`),
    `  Tools     ${total}`,
    ...ready.map((line, at) => `  ${at === 0 ? 'Workers' : '       '}   ${line}`),
  ].join('\n');
}
