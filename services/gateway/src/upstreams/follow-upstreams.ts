/**
 * Upstreams: MCP servers and HTTP APIs outside the fleet, as plugins of this gateway.
 *
 *   upstream-entries.ts    which of them are connected
 *   publish-upstreams.ts   makes their plugins
 *   upstream-report.ts     what operators see of them
 *   describe-upstreams.ts  what they offer, for the tool lock
 *   file/        the file that names them
 *   connection/  one MCP connection
 *   openapi/     an HTTP API with an OpenAPI document
 *   link/        connections that heal, and which gateway has them
 *   secrets/     keeps the secrets of their entries out of errors and logs
 *   sandbox/     what encloses a child process that asks for it
 *   plugin/      what an upstream offers, as a plugin
 */
import { AppError } from '@harness/contracts';
import type { GatewayCall } from '@harness/dispatch';
import { type ChildSlots, createChildSlots } from './connection/child-slots.ts';
import type { UpstreamConfig } from './file/upstream-config.ts';
import type { UpstreamsFile } from './file/upstreams-file.ts';
import type { OwnedLink } from './link/owned-link.ts';
import { type OwnerQuestion, upstreamTopic } from './link/remote-link.ts';
import { createUpstreamSandboxes, type UpstreamSandboxes } from './sandbox/upstream-sandboxes.ts';
import { createUpstreamEntries, sandboxOf, type UpstreamsDeps } from './upstream-entries.ts';
import { lockDifferencesOf, type UpstreamReport } from './upstream-report.ts';

/** The upstreams of this gateway. */
export interface Upstreams {
  /** Begins to connect. Not before the gateway listens: twenty upstreams would double the time of its start. */
  start(): void;
  /** In the order of the file. */
  list(): Promise<UpstreamReport[]>;
  /** Problems of the file, why it was refused as it is now, and children for which this gateway had no place. */
  diagnostics(): UpstreamsFile['diagnostics'];
  close(): Promise<void>;
}

const noUpstreams: Upstreams = {
  start: () => undefined,
  list: async () => [],
  diagnostics: () => [],
  close: async () => undefined,
};

/** Connects to the upstreams of a file once started, offers them as plugins, and follows both. Waits for none of them. */
export function followUpstreams(deps: UpstreamsDeps): Upstreams {
  const { file, plugins, logger, dispatch } = deps;
  if (!file) return noUpstreams;
  const children = createChildSlots(deps.maxChildren);
  const sandboxes = createUpstreamSandboxes(deps.env);
  const { entries, sync, close } = createUpstreamEntries({ ...deps, file, children, sandboxes });
  file.onChange(sync);
  const answer = async (call: GatewayCall) => {
    const question = call.question as OwnerQuestion;
    const link = entries.get(question.upstream)?.link as Partial<OwnedLink> | undefined;
    if (!link?.answer)
      throw new AppError('lease_lost', `${question.upstream} is not connected at this gateway.`);
    return link.answer(question, call);
  };
  dispatch.gatewayCalls
    .serve(upstreamTopic, answer)
    .catch((error) => logger.error({ err: error }, 'upstreams: other gateways cannot use those of this one'));
  // Plugins are enabled and disabled for the fleet; an upstream that no tenant may use needs no connection.
  const stops = [
    deps.changes.onChange((change) => {
      if ('list' in change && change.list === 'tools' && !change.keyId) sync();
    }),
    dispatch.replicas.onSignal((signal) => {
      if (signal.kind === 'upstream_reconnect') entries.get(signal.upstream)?.link?.reconnect();
      if (signal.kind === 'thread_deleted')
        for (const { link } of entries.values()) link?.endThread(`${signal.tenant}/${signal.threadId}`);
    }),
  ];

  return {
    start: sync,
    async list() {
      await Promise.all([...entries.values()].map(({ link }) => link?.refresh?.()));
      const all = [...entries.values()];
      const asks = all.some(({ config }) => sandboxOf(config));
      const sandbox = asks ? (await sandboxes.probed()).level : null;
      return all.map(({ config, link, problems, scrubber }) => ({
        config,
        sandbox: sandboxOf(config) ? sandbox : null,
        owner: link?.owner ?? null,
        link: link?.status(),
        description: link?.description,
        plugin: plugins.plugins.find(({ name }) => name === config.name),
        problems,
        scrubber,
        lock: lockDifferencesOf(config.name, plugins),
      }));
    },
    diagnostics: () => [
      ...refusedFileOf(file.problem?.()),
      ...file.current().diagnostics,
      ...refusalsOf(children),
      ...unenclosedOf(file.current().upstreams, sandboxes),
    ],
    async close() {
      for (const stop of stops) stop();
      await close();
      await sandboxes.close();
    },
  };
}

/** A diagnostic while the file is not used as it is now. */
const refusedFileOf = (problem: string | undefined): UpstreamsFile['diagnostics'] =>
  problem === undefined
    ? []
    : [{ source: 'upstreams', level: 'error', message: `${problem}. What was read before stays in effect.` }];

/** A diagnostic once children were refused. */
const refusalsOf = ({ refused, most }: ChildSlots): UpstreamsFile['diagnostics'] =>
  refused === 0
    ? []
    : [
        {
          source: 'upstreams',
          level: 'warning',
          message: `${refused} starts of child processes were refused at this gateway, which runs at most ${most}: raise HARNESS_UPSTREAM_CHILDREN, or name fewer upstreams`,
        },
      ];

/** A diagnostic for each upstream that is not started, because this machine has no sandbox. */
const unenclosedOf = (
  upstreams: readonly UpstreamConfig[],
  { refusal }: UpstreamSandboxes,
): UpstreamsFile['diagnostics'] =>
  refusal === undefined
    ? []
    : upstreams
        .filter((config) => sandboxOf(config) && !config.disabled)
        .map(({ name }) => ({
          source: name,
          level: 'error',
          message: `${name}: is not started, because it asks for a sandbox and this machine has none: ${refusal}`,
        }));
