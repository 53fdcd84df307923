import { Counter, Gauge, type Registry } from 'prom-client';
import type { RouteDeps } from '../app-deps.ts';

/** Registers metrics of the isolated plugins' processes at this gateway, read at each scrape. */
export function addPluginMetrics(registry: Registry, { plugins }: Pick<RouteDeps, 'plugins'>): void {
  const registers = [registry];
  const processes = () =>
    plugins.plugins.flatMap(({ name }) => {
      const process = plugins.processOf?.(name);
      return process ? [{ plugin: name, process }] : [];
    });
  new Gauge({
    name: 'harness_plugin_up',
    help: '1: the process of the isolated plugin is ready at this gateway; 0: it is restarting',
    labelNames: ['plugin'],
    registers,
    collect() {
      for (const { plugin, process } of processes()) this.set({ plugin }, process.state === 'ready' ? 1 : 0);
    },
  });
  new Counter({
    name: 'harness_plugin_crashes_total',
    help: 'Times that the process of an isolated plugin crashed or had to be killed at this gateway',
    labelNames: ['plugin'],
    registers,
    collect() {
      this.reset();
      for (const { plugin, process } of processes()) this.inc({ plugin }, process.crashes);
    },
  });
}
