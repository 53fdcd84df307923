import { readFile } from 'node:fs/promises';
import { parser } from '@prometheus-io/lezer-promql';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { openFleet } from '../open-fleet.ts';

const fileOf = (name: string) =>
  readFile(new URL(`../../../gateway/monitoring/${name}`, import.meta.url), 'utf8');

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
}
interface Alerts {
  groups: { rules: { alert: string; expr: string }[] }[];
}

/** Every expression of the dashboard and the alerts, with what it is for. */
async function expressions(): Promise<{ of: string; expr: string }[]> {
  const { panels } = JSON.parse(await fileOf('dashboard.json')) as Dashboard;
  const { groups } = parse(await fileOf('alerts.yaml')) as Alerts;
  return [
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, expr }))),
    ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ of: alert, expr }))),
  ].map(({ of, expr }) => ({ of, expr: expr.replaceAll('$__rate_interval', '5m') }));
}

/** The selectors of an expression: metric and labels. Throws for an expression that does not parse. */
function selectorsOf(expr: string): { metric: string; labels: string[] }[] {
  const selectors: { metric: string; labels: string[] }[] = [];
  parser.parse(expr).iterate({
    enter({ name, from, to, type }) {
      const text = expr.slice(from, to);
      if (type.isError) throw new Error(`${expr}: cannot be parsed at ${from}`);
      if (name === 'VectorSelector') selectors.push({ metric: /^\w+/.exec(text)?.[0] ?? '', labels: [] });
      if (name === 'LabelName' && selectors.length > 0) selectors.at(-1)?.labels.push(text);
    },
  });
  return selectors;
}

/** Names of the series in a text of metrics, with their labels. */
function seriesOf(text: string): Map<string, Set<string>> {
  const series = new Map<string, Set<string>>();
  const add = (name: string, labels: string[]) =>
    series.set(name, new Set([...(series.get(name) ?? []), ...labels]));
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
    for (const one of names) add(one, []);
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm))
    add(
      name,
      [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
    );
  return series;
}

test('the dashboard and the alerts use metrics and labels that exist; the totals of the fleet are those of its runs', async () => {
  const fleet = await openFleet({ workers: 1 });
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'call: time__current_time {}\nsay: one');
  await fleet.ask(threadId, 'say: two');
  const [worker] = fleet.workers;
  const textOf = async (url: string) => (await fetch(`${url}/metrics`)).text();

  await expect.poll(() => textOf(fleet.url)).toMatch(/^harness_follow_up_turns_total\{path="warm"\} 1$/m);
  const ofGateway = await textOf(fleet.url);
  expect(ofGateway).toMatch(/^harness_run_seconds_count\{phase="total",path="warm"\} 1$/m);
  expect(ofGateway).toMatch(
    /^harness_tool_call_seconds_count\{tool="time__current_time",transport="session",outcome="ok"\} 1$/m,
  );
  expect(ofGateway).toMatch(/^harness_model_requests_total\{model="[^"]+",agent="",tenant="default"\} 3$/m);
  expect(ofGateway).toMatch(/^harness_model_tokens_total\{.*direction="output"\} [1-9]/m);

  const series = seriesOf([ofGateway, await textOf(worker?.ready.url ?? '')].join('\n'));
  // Labels of what has not happened here, and of Prometheus itself.
  const labelsOf: Record<string, string[]> = { harness_plugin_up: ['plugin'] };
  for (const { of, expr } of await expressions()) {
    const selectors = selectorsOf(expr);
    expect(selectors, `${of}: ${expr}`).not.toEqual([]);
    for (const { metric, labels } of selectors) {
      expect([...series.keys()], `${of}: ${expr}`).toContain(metric);
      const known = [...(series.get(metric) ?? []), ...(labelsOf[metric] ?? [])];
      for (const label of labels) expect(known, `${of}: a label of ${metric}`).toContain(label);
    }
  }

  const figures = await fleet.get<{ models: { requests: number }[]; phases: { total: { count: number } } }>(
    '/v1/figures',
  );
  expect(figures).toMatchObject({ workers: 1, phases: { total: { count: 2 } } });
  expect(figures.models.map(({ requests }) => requests)).toEqual([3]);
});
