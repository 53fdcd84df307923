/**
 * How Lua scripts are registered, linked and run. A room registers the scripts beside its main file with
 * `scriptsBeside`; `libraries` lists the Lua files whose definitions any script may use.
 *
 * This folder:
 *   keys.ts          names of all Redis keys
 *   prelude.lua      definitions that every script may use: arguments, clock, hashes, result
 *   link-script.ts   prepends to a script the definitions that it uses
 *   records.ts       Redis hashes as resources of the API
 *   reached.ts       errors of Redis as AppErrors
 *   until-reached.ts repeats a step while Redis is unavailable
 *   batch-queries.ts batches queries of one turn of the event loop
 *   feed.ts          pub/sub on one connection
 *   gate.ts          bounds how many jobs run at once
 *   write-probe.ts   tests whether Redis takes writes
 *   digest.ts        SHA-256 of texts and of JSON values
 *   log.ts           the part of a logger that dispatch uses
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Acks } from '../fail-over/acks.ts';
import type { Limits } from '../limits.ts';
import type { Keys } from './keys.ts';
import { linkScript } from './link-script.ts';
import { reached } from './reached.ts';

/** A Lua script: the file holds its own text, without the shared definitions. */
export interface Script {
  name: string;
  file: URL;
  /**
   * Whether the replicas must confirm what it wrote before its result counts, when HARNESS_REDIS_ACKS is set.
   */
  isConfirmed: boolean;
}

/**
 * The scripts `<name>.lua` beside the module of this URL, by name. `unconfirmed`: scripts whose effect is not
 * promised to a caller, or that are repeated anyway.
 */
export function scriptsBeside<Confirmed extends string = never, Unconfirmed extends string = never>(
  moduleUrl: string,
  names: { confirmed?: readonly Confirmed[]; unconfirmed?: readonly Unconfirmed[] },
): Readonly<Record<Confirmed | Unconfirmed, Script>> {
  const entries = ([true, false] as const).flatMap((isConfirmed) =>
    ((isConfirmed ? names.confirmed : names.unconfirmed) ?? []).map((name): [string, Script] => [
      name,
      { name, file: new URL(`${name}.lua`, moduleUrl), isConfirmed },
    ]),
  );
  return Object.fromEntries(entries) as Record<Confirmed | Unconfirmed, Script>;
}

/** A script by its room and name (`thread/append`), for tests and benchmarks that call one directly. */
export const scriptAt = (path: string): Script => ({
  name: path.slice(path.lastIndexOf('/') + 1),
  file: new URL(`../${path}.lua`, import.meta.url),
  isConfirmed: false,
});

/** Runs scripts with the limits and the key prefix of this installation. */
export interface Scripts {
  /**
   * Runs one script and returns its result (a JSON object with `outcome`). Safe to repeat: a script
   * recognizes its own earlier effects. Throws `unavailable` when Redis does not answer, or when its replicas
   * do not confirm: the effect may or may not have happened.
   */
  call<Answer>(script: Script, args: object): Promise<Answer>;
}

const textOf = (file: URL) => readFileSync(file, 'utf8');
/** Shared definitions, in an order in which Lua may run them. */
const libraries = [
  'redis/prelude',
  'lease/owner',
  'gateway/notify-gateways',
  'events/add-event',
  'thread/tools-of-thread',
  'access/revoked',
  'fair/fair',
  'quota/quota',
  'thread-list/thread-index',
  'thread/threads',
  'thread/mailbox',
  'files/files',
  'task/tasks',
  'bus/bus',
  'bus/bus-queue',
  'bus/bus-delegated',
].map((path) => new URL(`../${path}.lua`, import.meta.url));

/** The complete text that Redis runs for a script. */
export const scriptText = ({ file }: Script, limits: Limits): string =>
  linkScript(libraries.map(textOf).join('\n'), textOf(file), limits);

type Command = (key: string, args: string) => Promise<string>;

/** How often one call sends a script's text to a Redis that forgets its scripts again and again. */
const maxLoads = 5;

/** `limits` and the prefix of `keys` are fixed for the life of the process. */
export function createScripts(deps: { redis: Redis; keys: Keys; limits: Limits; acks: Acks }): Scripts {
  const { redis, keys, limits, acks } = deps;
  const commands = new Map<string, Command>();
  /** ioredis sends the text once and its SHA-1 digest from then on; when Redis has forgotten it, the text once more. */
  const commandOf = (script: Script): Command => {
    const known = commands.get(script.file.href);
    if (known) return known;
    // ioredis makes a command a method of the connection: the prefix keeps it from hiding an existing one
    // (`emit`).
    const name = `harness:${script.name}`;
    redis.defineCommand(name, { numberOfKeys: 1, lua: scriptText(script, limits) });
    const command = (redis as unknown as Record<string, Command>)[name]?.bind(redis) as Command;
    commands.set(script.file.href, command);
    return command;
  };
  return {
    async call(script, args) {
      const argsText = jsonOf({ seed: randomUUID(), ...args });
      const command = commandOf(script);
      const run = () => reached(whileForgotten(() => command(keys.prefix, argsText)));
      const answer = await (script.isConfirmed ? acks.acknowledged(run) : run());
      return JSON.parse(answer);
    },
  };
}

/** Repeats a command that did not run because Redis has forgotten its script (SCRIPT FLUSH, a fail-over). */
async function whileForgotten(send: () => Promise<string>): Promise<string> {
  for (let load = 1; ; load++) {
    try {
      return await send();
    } catch (error) {
      if (load === maxLoads || !(error as Error).message.startsWith('NOSCRIPT')) throw error;
    }
  }
}

/** A list in a script result: Lua encodes an empty table as `{}`. */
export const listOf = <T>(value: T[] | Record<string, never> | undefined): T[] =>
  Array.isArray(value) ? value : [];
