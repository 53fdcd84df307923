/**
 * Redis keys: this file, lua/prelude.lua and lua/bus.lua are their only owners. All share one hash tag, so scripts may touch any.
 *
 * | key | type | holds |
 * |---|---|---|
 * | th:<threadId> | hash | the thread: tenant, owner, epoch, last, done, attempt, run, sdkSessionId, … |
 * | mb:<threadId> | stream | mailbox, id `<seq>-0`; entries point at run:<runId> |
 * | run:<runId> | hash | one run: input, status, result, … |
 * | runs:<threadId> | zset | seq -> runId |
 * | pend | zset | threads with uncommitted mail, by Redis time |
 * | idem:<tenant>:<sha256> · idem:task:… | string | accepted idempotency keys |
 * | sent:<id> | string | system mail and notes already delivered |
 * | ev:<threadId> | stream | events of a thread; those of all below it are read from theirs |
 * | evs:<rootThreadId> | zset | threads of a tree by the time of their latest event |
 * | tree:<rootThreadId> | stream | copies of them, made by earlier releases |
 * | ch:<threadId> · chtree:<rootThreadId> | channel | "something new", or a live delta |
 * | w:<workerId> | string | liveness, with a TTL |
 * | workers | set | worker ids, until swept |
 * | wi:<workerId> | string | what a worker says of itself: sessions, slots, counters (JSON), with a TTL |
 * | own:<workerId> | set | threads it owns |
 * | drain:<workerId> | string | it was asked to finish and leave |
 * | ctl:<workerId> | channel | cancel, interrupt, drop and drain, in a hurry |
 * | ring:<workerId> | channel | threads of the worker with new mail |
 * | led:<threadId> | hash | tool calls of the current run: answered ones, and the ledger of those that must not run twice |
 * | sess:<threadId>[:<name>[:uuids]] | set, list, set | transcripts of a thread, by name; entries; their uuids |
 * | task:<taskId> | hash | a delegated task |
 * | working | zset | open tasks, by last movement |
 * | open:<threadId> · kids:<threadId> | set | open tasks of a thread; its child threads |
 * | chain:<runId> | counter | tasks made since one user message |
 * | ths:<tenant> · tasks:<tenant> | zset | lists |
 * | trim · tenants | zset, set | tenants by when their lists are to be trimmed; those of earlier releases |
 * | store:<plugin> | hash | a plugin's key-value |
 * | profiles:<agents or skills> | hash | name -> what it makes of a session (JSON) |
 * | folders:<agents or skills> | hash | which gateway read what, since when (JSON); `published`: the digest of what profiles holds |
 * | plugins:off | set | disabled plugins |
 * | gateways[:<replica>] · signals[:<replica>] | channel, stream | signals among gateways; the latest, kept for those that were cut off |
 * | gw:<replica> | string | a gateway's liveness, with a TTL |
 * | mcp:<sessionId>[:sub] | hash, set | an MCP session of the 2025 era; its subscriptions |
 * | mcplog:<stream> | stream, channel | messages of one client's stream, to come back for |
 * | ctask:<taskId> | hash | a tool call that runs as a task |
 * | bt:<tenant>:<id> · bw:<tenant>:<name> | hash | the bus: a task; a worker |
 * | bq:<tenant>:<requires> · bqs:<tenant> | zset, set | its queue, by what tasks require; which requirements have a queue |
 * | bwait:<tenant>:<labels> · bwaits:<tenant> · bpolling:<tenant> | zset, set, zset | workers that wait, by labels; which labels; all |
 * | bst:<tenant>:<state> · bts:<tenant> · bws:<tenant> | zset | tasks by state, since when; all tasks; all workers |
 * | bseq:<tenant> · btenants · bswept | counter, set, string | ages; tenants with a bus; when it was swept |
 * | btidy · bcounts | zset, hash | tenants with a bus by when it was tidied; what all buses hold, by state |
 * | bdue · bpolls | zset | `<tenant>:<id>` by the end of its lease; `<tenant>:<name>` by the end of its poll |
 * | bev:<tenant> · chbus:<tenant> | stream, channel | events of a bus |
 * | version | hash | version of the data's shape: data, least, and unfinished during a migration |
 * | probe:<random> | string | the write by which a process sees whether Redis takes any, with a TTL |
 * | secret | string | signs thread tokens, where no secret was configured |
 * | server | hash | replicationId: of the Redis that was seen last; changes: how often it became another |
 * | ack | string | a marker that replicas confirm |
 * | runs | hash | <status>:<path> -> how many runs have their result |
 * | gaps · dropped · escapes · lost | counter | mail lost with a torn log; mail to deleted threads; processes that ended for what nobody caught; mail that a fail-over took back |
 */
export interface Keys {
  prefix: string;
  /** Prefix of BullMQ's own keys. */
  bull: string;
  of(kind: string, id: string): string;
  one(
    name:
      | 'workers'
      | 'gaps'
      | 'dropped'
      | 'escapes'
      | 'lost'
      | 'ack'
      | 'server'
      | 'secret'
      | 'pend'
      | 'runs'
      | 'btenants'
      | 'bcounts'
      | 'gateways'
      | 'signals'
      | 'plugins:off'
      | 'version',
  ): string;
}

/** `tag` separates installations (and tests) that share one Redis. */
export function createKeys(tag = 'h'): Keys {
  const prefix = `{${tag}}:`;
  return {
    prefix,
    bull: `{${tag}}:bull`,
    of: (kind, id) => `${prefix}${kind}:${id}`,
    one: (name) => `${prefix}${name}`,
  };
}
