/**
 * Upstreams: MCP servers and HTTP APIs outside the fleet, as plugins of this gateway.
 *
 *   publish-upstreams.ts  makes their plugins
 *   upstream-report.ts  what operators see of them
 *   describe-upstreams.ts  what they offer, for the tool lock
 *   file/        the file that names them
 *   connection/  one MCP connection
 *   openapi/     an HTTP API with an OpenAPI document
 *   link/        connections that heal, and which gateway has them
 *   sandbox/     what encloses a child process that asks for it
 *   plugin/      what an upstream offers, as a plugin
 */
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@harness/contracts';
import type { Dispatch, GatewayCall } from '@harness/dispatch';
import type { PluginHost } from '@harness/plugin-kit';
import { createScrubber, type Logger } from '@harness/runtime';
import type { Changes } from '../content/list-changes.ts';
import type { FollowedFile } from '../follow-file.ts';
import { type ChildSlots, createChildSlots } from './connection/child-slots.ts';
import type { UpstreamConfig } from './file/upstream-config.ts';
import { secretsOf, type UpstreamsFile } from './file/upstreams-file.ts';
import { createLink, type Link } from './link/link.ts';
import { createOwnedLink, type OwnedLink } from './link/owned-link.ts';
import { type OwnerQuestion, upstreamTopic } from './link/remote-link.ts';
import { uriBehind } from './plugin/upstream-plugin.ts';
import { createPublisher, type UpstreamEntry } from './publish-upstreams.ts';
import { createUpstreamSandboxes, type UpstreamSandboxes } from './sandbox/upstream-sandboxes.ts';
import { lockDifferencesOf, type UpstreamReport } from './upstream-report.ts';

/** The upstreams of this gateway. */
export interface Upstreams {
  /** In the order of the file. */
  list(): Promise<UpstreamReport[]>;
  /** Problems of the file, and children for which this gateway had no place. */
  diagnostics(): UpstreamsFile['diagnostics'];
  close(): Promise<void>;
}

/** What following upstreams needs. */
export interface UpstreamsDeps {
  /** Undefined: there are no upstreams. */
  file: Pick<FollowedFile<UpstreamsFile>, 'current' | 'onChange'> | undefined;
  /** The gateway's environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** Plugins that may have bare names. */
  unprefixed: readonly string[];
  /** Most child processes of this gateway. Default: 32. */
  maxChildren?: number | undefined;
  plugins: PluginHost;
  dispatch: Dispatch;
  changes: Changes;
  logger: Logger;
}

const noUpstreams: Upstreams = {
  list: async () => [],
  diagnostics: () => [],
  close: async () => undefined,
};

/** Connects to the upstreams of a file and offers them as plugins, and follows both. Waits for none of them. */
export function followUpstreams(deps: UpstreamsDeps): Upstreams {
  const { file, plugins, logger, dispatch } = deps;
  if (!file) return noUpstreams;
  const entries = new Map<string, UpstreamEntry>();
  const children = createChildSlots(deps.maxChildren);
  const sandboxes = createUpstreamSandboxes(deps.env);
  const publish = createPublisher(deps, entries);

  const sync = () => {
    const { upstreams } = file.current();
    for (const [name, { config }] of entries)
      if (!upstreams.some((one) => isDeepStrictEqual(one, config))) remove(name);
    for (const config of upstreams) {
      const entry = entries.get(config.name) ?? entryOf(config);
      entries.set(config.name, entry);
      const isOn = !config.disabled && plugins.isEnabled(config.name);
      if (isOn && sandboxOf(config)) void sandboxes.probed();
      if (isOn && !entry.link) entry.link = linkOf(entry);
      if (!isOn) unlink(entry);
    }
    publish();
  };
  const ends = new Map<string, Promise<unknown>>();
  const unlink = (entry: UpstreamEntry) => {
    const { link, config } = entry;
    if (!link) return;
    entry.link = undefined;
    ends.set(config.name, Promise.all([ends.get(config.name), link.close()]));
  };
  const remove = (name: string) => {
    const entry = entries.get(name);
    if (!entry) return;
    entries.delete(name);
    unlink(entry);
    if (!entry.published) return;
    plugins.remove(name);
    deps.changes.report(['tools', 'resources', 'prompts']);
  };
  const entryOf = (config: UpstreamConfig): UpstreamEntry => {
    const scrubber = createScrubber({ values: secretsOf(config) });
    const entry: UpstreamEntry = {
      config,
      link: undefined,
      problems: [],
      published: undefined,
      port: {
        request: (request, hooks) => linkNow(entry).request(request, hooks),
        subscribe: (uri) => linkNow(entry).subscribe(uri),
        scrub: scrubber.json,
      },
    };
    return entry;
  };
  const linkNow = ({ link, config }: UpstreamEntry): Link => {
    if (!link) throw new Error(`${config.name} is disabled`);
    return link;
  };
  const linkOf = (entry: UpstreamEntry): Link => {
    const { config, port } = entry;
    // A child is started once in the fleet, and the state of a thread is at one place.
    const isOwned = config.kind === 'stdio' || config.scope === 'thread';
    return (isOwned ? createOwnedLink : createLink)({
      config,
      dispatch,
      env: deps.env,
      children,
      sandboxes,
      scrub: port.scrub,
      logger,
      after: ends.get(config.name),
      onDescribed: publish,
      onResourceUpdated(uri) {
        const isListed = entry.link?.description?.catalog.resources.some((one) => one.uri === uri);
        const isBehind = isListed && !entry.published?.uris.includes(uri);
        dispatch.replicas
          .broadcast({ kind: 'resource_updated', uri: isBehind ? uriBehind(config.name, uri) : uri })
          .catch((error) =>
            logger.debug({ err: error, uri }, 'upstream: change of a resource not announced'),
          );
      },
    });
  };
  sync();
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
    async list() {
      await Promise.all([...entries.values()].map(({ link }) => link?.refresh?.()));
      const all = [...entries.values()];
      const asks = all.some(({ config }) => sandboxOf(config));
      const sandbox = asks ? (await sandboxes.probed()).level : null;
      return all.map(({ config, link, problems }) => ({
        config,
        sandbox: sandboxOf(config) ? sandbox : null,
        owner: link?.owner ?? null,
        link: link?.status(),
        description: link?.description,
        plugin: plugins.plugins.find(({ name }) => name === config.name),
        problems,
        lock: lockDifferencesOf(config.name, plugins),
      }));
    },
    diagnostics: () => [
      ...file.current().diagnostics,
      ...refusalsOf(children),
      ...unenclosedOf(file.current().upstreams, sandboxes),
    ],
    async close() {
      for (const stop of stops) stop();
      for (const entry of entries.values()) unlink(entry);
      await Promise.all(ends.values());
      await sandboxes.close();
    },
  };
}

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

const sandboxOf = (config: UpstreamConfig) => (config.kind === 'stdio' ? config.sandbox : undefined);

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
