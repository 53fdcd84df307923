import { Counter, Gauge, type Registry } from 'prom-client';
import type { RouteDeps } from '../app-deps.ts';

/** The processes of plugins at this gateway, as they are when Prometheus asks. */
export function addPluginMetrics(registry: Registry, { plugins }: Pick<RouteDeps, 'plugins'>): void {
  const registers = [registry];
  const processes = () =>
    plugins.plugins.flatMap(({ name }) => {
      const process = plugins.processOf?.(name);
      return process ? [{ plugin: name, process }] : [];
    });
  new Gauge({
    name: 'harness_plugin_up',
    help: 'Plugins whose process takes calls at this gateway (1), or is being started again (0)',
    labelNames: ['plugin'],
    registers,
    collect() {
      for (const { plugin, process } of processes()) this.set({ plugin }, process.state === 'ready' ? 1 : 0);
    },
  });
  new Counter({
    name: 'harness_plugin_crashes_total',
    help: 'Times that the process of a plugin ended at this gateway, or had to be ended',
    labelNames: ['plugin'],
    registers,
    collect() {
      this.reset();
      for (const { plugin, process } of processes()) this.inc({ plugin }, process.crashes);
    },
  });
}
