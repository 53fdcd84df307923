import type { PluginDefinition } from '@harness/plugin-kit';
import type { ConnectDeps } from './connection/connect.ts';
import { openConnection } from './connection/open-connection.ts';
import { readCatalog } from './connection/read-catalog.ts';
import type { UpstreamConfig } from './file/upstream-config.ts';
import type { UpstreamDescription } from './link/link.ts';
import { upstreamPluginOf } from './plugin/upstream-plugin.ts';
import { createUpstreamSandboxes } from './sandbox/upstream-sandboxes.ts';
import { createUpstreamScrubber } from './secrets/upstream-scrubber.ts';

/** The upstreams of a file as plugins, for the tool lock: what could be reached, and why the rest could not. */
export interface DescribedUpstreams {
  plugins: PluginDefinition[];
  failures: { name: string; message: string }[];
}

/** Time for one upstream to connect, ms. */
const timeoutMs = 60_000;

/** Connects to each upstream once and reads what it offers. Never rejects. */
export async function describeUpstreams(
  upstreams: readonly UpstreamConfig[],
  { env, unprefixed }: { env: Readonly<Record<string, string | undefined>>; unprefixed: readonly string[] },
): Promise<DescribedUpstreams> {
  const sandboxes = createUpstreamSandboxes(env);
  const described = await Promise.allSettled(upstreams.map((config) => describe(config, { env, sandboxes })));
  await sandboxes.close();
  const taken = new Set<string>();
  const result: DescribedUpstreams = { plugins: [], failures: [] };
  for (const [at, config] of upstreams.entries()) {
    const outcome = described[at] as (typeof described)[number];
    if (outcome.status === 'rejected') {
      const message = String(outcome.reason?.message ?? outcome.reason);
      result.failures.push({ name: config.name, message: createUpstreamScrubber(config).json(message) });
      continue;
    }
    const { plugin } = upstreamPluginOf({
      config,
      description: outcome.value,
      port: unused,
      isUnprefixed: unprefixed.includes(config.name),
      isTaken: (uri) => taken.has(uri),
    });
    for (const { uri } of plugin.resources ?? []) taken.add(uri);
    result.plugins.push(plugin);
  }
  return result;
}

async function describe(
  config: UpstreamConfig,
  deps: Pick<ConnectDeps, 'env' | 'sandboxes'>,
): Promise<UpstreamDescription> {
  const { signal } = new AbortController();
  const connection = await openConnection(config, deaf, { ...deps, timeoutMs, signal });
  try {
    const { era, protocolVersion, server, instructions } = connection;
    const catalog = await readCatalog(connection, { maxTools: config.maxTools, timeoutMs, signal });
    return { era, protocolVersion, server, instructions, catalog };
  } finally {
    await connection.close();
  }
}

const nothing = () => undefined;
const deaf = {
  onListChanged: nothing,
  onResourceUpdated: nothing,
  onLog: nothing,
  onClosed: nothing,
  onError: nothing,
};
const refuse = async (): Promise<never> => {
  throw new Error('nothing is called while the tool lock is written');
};
const unused = { request: refuse, subscribe: refuse };
