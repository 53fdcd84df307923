/**
 * An upstream as a plugin: what it offers, under names of this gateway, with handlers that pass requests on.
 *
 * This folder:
 *   forward.ts           requests and results on their way
 *   param-headers.ts     inputs that are repeated as headers
 *   foreign-meta.ts      keys of `_meta` that only this gateway may set
 *   structured-result.ts structured content that is no object
 *   matches-template.ts  URIs of a template
 */

import { isObject } from '@harness/contracts';
import {
  definePlugin,
  type PluginDefinition,
  type PluginPrompt,
  type PluginResource,
  type PluginResourceTemplate,
  type PluginTool,
  withoutInvisible,
} from '@harness/plugin-kit';
import type { RawResult } from '../connection/request.ts';
import type { UpstreamConfig } from '../file/upstream-config.ts';
import { isChosen, partNameOf } from '../file/upstream-names.ts';
import type { UpstreamDescription } from '../link/link.ts';
import { withForeignMeta } from './foreign-meta.ts';
import { createForward, type Port } from './forward.ts';
import { isOwnUri, matchesTemplate, templateProblemOf, variablesOf } from './matches-template.ts';
import { shownOutputSchema } from './structured-result.ts';

/** A plugin, and what of the upstream is not offered. */
export interface UpstreamPlugin {
  plugin: PluginDefinition;
  problems: string[];
}

/** What making a plugin needs. */
export interface UpstreamPluginDeps {
  config: UpstreamConfig;
  description: UpstreamDescription;
  port: Port;
  /** Whether its tools and prompts have bare names. */
  isUnprefixed: boolean;
  /** Whether a resource URI belongs to another plugin. */
  isTaken(uri: string): boolean;
}

/** The URI under which a resource is offered whose own URI belongs to another plugin. */
export const uriBehind = (name: string, uri: string): string =>
  `harness://upstream/${name}/${encodeURIComponent(uri)}`;

/** Longest `<plugin>__<tool>`; see the plugin contract. */
const maxQualifiedName = 114;

/** Makes the plugin of an upstream. */
export function upstreamPluginOf(deps: UpstreamPluginDeps): UpstreamPlugin {
  const { config, description, isUnprefixed } = deps;
  const { catalog, server } = description;
  const problems = [...catalog.problems];
  const forward = createForward(deps);
  const named = <Item extends RawResult>(items: readonly Item[], word: string) => {
    const taken = new Map<string, string>();
    return items.flatMap((item) => {
      const own = String(item.name);
      const name = (Object.hasOwn(config.rename, own) && config.rename[own]) || partNameOf(own);
      const other = taken.get(name);
      const qualified = isUnprefixed ? name : `${config.name}__${name}`;
      const why = other
        ? `"${other}" has the same name here, "${name}"; rename one of them`
        : isUnprefixed && name.includes('__')
          ? `a name without a prefix must not have "__": it would look like another plugin’s`
          : partNameOf(name) !== name
            ? `its new name "${name}" is not of letters, digits, - and _, at most 64`
            : qualified.length > maxQualifiedName
              ? `its name "${qualified}" has more than ${maxQualifiedName} characters; rename it`
              : undefined;
      if (why === undefined) {
        taken.set(name, own);
        return [{ item, own, name }];
      }
      problems.push(`${word} ${JSON.stringify(own)} is left out: ${why}`);
      return [];
    });
  };

  const tools = named(
    catalog.tools.filter(({ name }) => isChosen(String(name), config.tools)),
    'tool',
  ).map(({ item, own, name }): PluginTool => {
    const {
      name: _,
      title,
      description: text,
      inputSchema,
      outputSchema,
      annotations,
      ...rest
    } = withForeignMeta(item);
    // `execution` says how to call it in 2025-11-25, which this gateway does for its callers.
    const { execution, ...extra } = rest;
    const shownOutput = shownOutputSchema(outputSchema);
    return {
      name,
      description: typeof text === 'string' ? text : '',
      schema: (inputSchema ?? {}) as PluginTool['schema'],
      isForwarded: true,
      timeoutMs: config.timeoutMs,
      ...(typeof title === 'string' && { title }),
      ...(shownOutput && { outputSchema: shownOutput }),
      ...(isObject(annotations) && { annotations }),
      extra,
      handler: forward.toolOf(own, { inputSchema, outputSchema, taskSupport: taskSupportOf(execution) }),
    };
  });

  const prompts = named(catalog.prompts, 'prompt').map(({ item, own, name }): PluginPrompt => {
    const { name: _, title, description: text, arguments: args, ...extra } = withForeignMeta(item);
    return {
      name,
      ...(typeof title === 'string' && { title }),
      ...(typeof text === 'string' && { description: text }),
      arguments: (Array.isArray(args) ? args : []).filter(isNamed).map((argument) => ({
        ...argument,
        ...(catalog.completes && {
          complete: forward.completerOf({ type: 'ref/prompt', name: own }, argument.name),
        }),
      })),
      extra,
      get: forward.promptOf(own),
    };
  });

  const resources = catalog.resources.map((item): PluginResource => {
    const { uri: own, name, title, description: text, mimeType, ...extra } = withForeignMeta(item);
    const uri =
      isOwnUri(String(own)) || deps.isTaken(String(own)) ? uriBehind(config.name, String(own)) : String(own);
    return {
      uri,
      name: typeof name === 'string' ? name : String(own),
      ...textsOf({ title, description: text, mimeType }),
      extra,
      read: forward.resourceOf({ own: String(own), shown: uri }),
      onSubscribe: () => forward.subscribe(String(own)),
    };
  });

  const isUsable = ({ uriTemplate }: RawResult) => {
    const why = templateProblemOf(String(uriTemplate));
    if (why !== undefined)
      problems.push(`resource template ${JSON.stringify(uriTemplate)} is left out: ${why}`);
    return why === undefined;
  };
  const resourceTemplates = catalog.resourceTemplates.filter(isUsable).map((item): PluginResourceTemplate => {
    const { uriTemplate, name, title, description: text, mimeType, ...extra } = withForeignMeta(item);
    const template = String(uriTemplate);
    const ref = { type: 'ref/resource', uri: template };
    return {
      uriTemplate: template,
      name: typeof name === 'string' ? name : template,
      ...textsOf({ title, description: text, mimeType }),
      extra,
      isForwarded: true,
      matches: (uri) => matchesTemplate(uri, template),
      read: (ctx, uri, ...[, meta]) => forward.resourceOf({ own: uri, shown: uri })(ctx, meta),
      onSubscribe: (_ctx, uri) => forward.subscribe(uri),
      ...(catalog.completes && {
        complete: Object.fromEntries(
          variablesOf(template).map((variable) => [variable, forward.completerOf(ref, variable)]),
        ),
      }),
    };
  });

  const plugin = definePlugin({
    name: config.name,
    version: server?.version || '0',
    ...(isUnprefixed && { prefix: false }),
    ...instructionsOf(description.instructions, problems),
    tools,
    prompts,
    resources,
    resourceTemplates,
    register: () => undefined,
  });
  return { plugin, problems };
}

/** Longest text that is passed on, characters; it is a foreign text, and every client reads it first. */
const maxInstructions = 2_048;

/** The upstream's instructions without invisible characters, cut at the limit. */
function instructionsOf(text: string | undefined, problems: string[]): { instructions?: string } {
  const visible = withoutInvisible(text ?? '').trim();
  if (visible === '') return {};
  if (visible.length > maxInstructions)
    problems.push(`its instructions have ${visible.length} characters and are cut at ${maxInstructions}`);
  return { instructions: visible.slice(0, maxInstructions).toWellFormed() };
}

function taskSupportOf(execution: unknown): 'optional' | 'required' | undefined {
  const support = isObject(execution) ? execution.taskSupport : undefined;
  return support === 'optional' || support === 'required' ? support : undefined;
}

const isNamed = (value: unknown): value is { name: string } =>
  isObject(value) && typeof value.name === 'string';

/** The fields that are texts. */
const textsOf = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string'));
