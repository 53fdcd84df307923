import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Acks } from '../fail-over/acks.ts';
import type { Limits } from '../limits.ts';
import type { Keys } from './keys.ts';
import { linkScript } from './link-script.ts';
import { reached } from './reached.ts';

/** A Lua script; what its text may use stands in prelude.lua. */
export interface Script {
  name: string;
  file: URL;
  /** Whether replicas must confirm what it did before its answer counts, where they are asked to (HARNESS_REDIS_ACKS). */
  isConfirmed: boolean;
}

/**
 * The scripts of a room: `<name>.lua` beside the module of this URL. `unconfirmed` are those whose effect nobody is
 * promised, or that happen again by themselves.
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

/** A script by its room and name (`thread/append`), for tests and benchmarks that call one by itself. */
export const scriptAt = (path: string): Script => ({
  name: path.slice(path.lastIndexOf('/') + 1),
  file: new URL(`../${path}.lua`, import.meta.url),
  isConfirmed: false,
});

export interface Scripts {
  /**
   * Runs one script. Safe to repeat: each recognises its own earlier effects.
   * Throws `unavailable` when Redis does not answer, or its replicas do not confirm: then it may or may not have
   * happened.
   */
  call<Answer>(script: Script, args: object): Promise<Answer>;
}

const textOf = (file: URL) => readFileSync(file, 'utf8');
/** What scripts share, by room, in an order in which Lua may run it. */
const libraries = [
  'redis/prelude',
  'lease/owner',
  'events/add-event',
  'gateway/tell-gateways',
  'thread/tools-of-thread',
  'thread/threads',
  'thread/mailbox',
  'task/tasks',
  'bus/bus',
].map((path) => new URL(`../${path}.lua`, import.meta.url));

/** What Redis runs for this script. */
export const scriptText = ({ file }: Script, limits: Limits): string =>
  linkScript(libraries.map(textOf).join('\n'), textOf(file), limits);

type Command = (key: string, args: string) => Promise<string>;

/** `limits` and the prefix of `keys` are the same for every call. */
export function createScripts(deps: { redis: Redis; keys: Keys; limits: Limits; acks: Acks }): Scripts {
  const { redis, keys, limits, acks } = deps;
  const commands = new Map<string, Command>();
  /** ioredis sends the text once and its digest from then on. */
  const commandOf = (script: Script): Command => {
    const known = commands.get(script.file.href);
    if (known) return known;
    // A command becomes a method of the connection: the prefix keeps it from hiding one that exists (`emit`).
    const name = `harness:${script.name}`;
    redis.defineCommand(name, { numberOfKeys: 1, lua: scriptText(script, limits) });
    const command = (redis as unknown as Record<string, Command>)[name]?.bind(redis) as Command;
    commands.set(script.file.href, command);
    return command;
  };
  return {
    async call(script, args) {
      const argsText = jsonOf({ seed: randomUUID(), ...args });
      const run = () => reached(commandOf(script)(keys.prefix, argsText));
      const answer = await (script.isConfirmed ? acks.acknowledged(run) : run());
      return JSON.parse(answer);
    },
  };
}

/** Lua's empty table reaches us as `{}`. */
export const listOf = <T>(value: T[] | Record<string, never> | undefined): T[] =>
  Array.isArray(value) ? value : [];
