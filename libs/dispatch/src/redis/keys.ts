/**
 * Redis keys. All share one hash tag, so that a script may use any of them. TypeScript makes them here,
 * scripts with `key()` and `P` of prelude.lua.
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
 * | ev:<threadId> | stream | events of a thread; a tree's events are read from the streams of its threads |
 * | evs:<rootThreadId> | zset | threads of a tree by the time of their latest event |
 * | tree:<rootThreadId> | stream | copies of a tree's events, written by earlier releases only |
 * | ch:<threadId> · chtree:<rootThreadId> | channel | "something new", or a live delta |
 * | w:<workerId> | string | liveness, with a TTL |
 * | workers | set | worker ids, until swept |
 * | wi:<workerId> | string | what a worker reports: sessions, slots, counters (JSON), with a TTL |
 * | own:<workerId> | set | threads it owns |
 * | drain:<workerId> | string | the worker was asked to finish its turns and exit |
 * | ctl:<workerId> | channel | cancel, interrupt, drop and drain, for immediate effect |
 * | ring:<workerId> | channel | threads of the worker with new mail |
 * | question:<questionId> · attend:<threadId> | hash, string | a question of a tool, with its answer; a client that answers them follows the thread; both with a TTL |
 * | led:<threadId> | hash | tool calls of the current run: those whose result the model has seen, and the ledger of those that must not run twice |
 * | sess:<threadId>[:<name>[:uuids]] | set, list, set | transcripts of a thread, by name; entries; their uuids |
 * | task:<taskId> | hash | a delegated task |
 * | twatch:<taskId> | string | MCP clients have subscribed to the task, with a TTL |
 * | working | zset | open tasks, by their latest change |
 * | open:<threadId> · kids:<threadId> | set | open tasks of a thread; its child threads |
 * | chain:<runId> | counter | tasks made since one user message |
 * | ths:<tenant> · tasks:<tenant> | zset | lists |
 * | thx:<tenant>:<field>:<value> · thx:<tenant> | zset, string | indexes of threads by state, agent and skill; whether threads of earlier releases are in them |
 * | keyring · revoked | hash, zset | `<tenant>/<keyId>` of configured keys -> a fingerprint of secret and rights; of keys whose rights have ended, by when |
 * | want:<tenant> · wants · wantclock | zset, zset, string | unowned threads that want a turn, by when they were rung; tenants with such threads, by how many they were given; the latest such number |
 * | held:<limit>:<tenant>[/<keyId>] | zset | what counts towards a quota, by when it was taken: openTasks, waitingMessages, mcpSessions, subscriptions; of a key with its own limit also threads |
 * | day:<days since 1970> | hash | tenant[/keyId] -> accepted messages and tasks of the day, with a TTL |
 * | trim · tenants | zset, set | tenants by when their lists must be trimmed; the same of earlier releases |
 * | store:<plugin> · store:<tenant>/<plugin> · global:<plugin> | hash | a plugin's key-value: of the tenant `default`, of another one, of all together |
 * | profiles:<agents or skills> | hash | name -> its WorkProfile (JSON) |
 * | folders:<agents or skills> | hash | which gateway read which content, since when (JSON); `published`: the digest of what profiles holds |
 * | upstream:<name> | string | the gateway that owns it, with a TTL |
 * | gwcall:<gateway> | channel | calls from other gateways, and the answers to its own |
 * | tools:listed | string | how many tools sessions list |
 * | plugins:off | set | disabled plugins: `<plugin>` for all tenants, `<tenant>/<plugin>` for one |
 * | gateways[:<replica>] · signals[:<replica>] | channel, stream | signals among gateways; the latest ones, kept for gateways that were disconnected |
 * | rate:<tenant>[/<keyId>] | hash | a token bucket of requests, with a TTL |
 * | gw:<replica> · gws | string, zset | a gateway's liveness, with a TTL; gateways by their latest heartbeat |
 * | mcp:<sessionId>[:sub] | hash, set | an MCP session of the 2025 era; its subscriptions |
 * | mcplog:<stream> | stream, channel | messages of one client's stream, which the client can resume |
 * | apikeys[:<tenant>] | set, hash | tenants that have API keys made by the API; these: id -> key without its secret (JSON) |
 * | audit[:<tenant>] | stream | the latest audit records, of the installation and of a tenant |
 * | auditbatch:<replica> | string | the latest batch of audit records of a gateway, with a TTL |
 * | ctask:<taskId> | hash | a tool call that runs as a task |
 * | bt:<tenant>:<id> · bw:<tenant>:<name> | hash | the bus: a task; a worker |
 * | bq:<tenant>:<requires> · bqs:<tenant> | zset, set | its queue, by required labels; which sets of required labels have a queue |
 * | bwait:<tenant>:<labels> · bwaits:<tenant> · bpolling:<tenant> | zset, set, zset | waiting workers by labels; which sets of labels have any; all waiting workers |
 * | bst:<tenant>:<state> · bts:<tenant> · bws:<tenant> | zset | tasks by state, since when; all tasks; all workers |
 * | bseq:<tenant> · btenants · bswept | counter, set, string | submission order; tenants with a bus; when the buses were last swept |
 * | btidy · bcounts | zset, hash | tenants with a bus by when it was last checked for expired tasks; totals of all buses, by state |
 * | bdue · bpolls | zset | `<tenant>:<id>` by the end of its lease; `<tenant>:<name>` by the end of its poll |
 * | bev:<tenant> · chbus:<tenant> | stream, channel | events of a bus |
 * | version | hash | version of the data's shape: data, least, and unfinished during a migration |
 * | probe:<random> | string | test write of a process (write-probe.ts), with a TTL |
 * | secret | string | signs thread tokens when no secret is configured |
 * | ticket:<sha256> · tickets:<holder> | string, zset | a one-time ticket; those of a holder by their expiry |
 * | csession:<sha256> · csessions:<holder> | string, zset | a session of the console; those of a holder by their expiry |
 * | filesid | string | a random id of this data: files are collected as garbage only with the data that refers to them |
 * | naming | hash | the secret that names default threads, encrypted with each token secret |
 * | server | hash | replicationId: of the Redis seen last; changes: how often it changed |
 * | ack | string | a marker that replicas confirm |
 * | runs | hash | <status>:<path> -> number of runs that have their result |
 * | refused | hash | repeated, stale, outOfOrder -> number of results that a commit refused |
 * | figures · uses | hash | totals of the fleet: durations by phase, path and bucket; use of models by model, agent and tenant |
 * | figbatch:<workerId> | string | the latest batch of figures of a worker, with a TTL |
 * | gaps · dropped · escapes · lost | counter | mail lost with a torn log; mail to deleted threads; processes that ended because of an uncaught error; mail that a fail-over took back |
 */
export interface Keys {
  prefix: string;
  /** Prefix of the keys that BullMQ makes. */
  bull: string;
  /** The key `<kind>:<id>`. */
  of(kind: string, id: string): string;
  /** A key or channel that exists once. */
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
      | 'refused'
      | 'figures'
      | 'uses'
      | 'btenants'
      | 'bcounts'
      | 'gateways'
      | 'gws'
      | 'revoked'
      | 'signals'
      | 'plugins:off'
      | 'tools:listed'
      | 'version'
      | 'audit'
      | 'apikeys'
      | 'naming'
      | 'trim'
      | 'filesid',
  ): string;
}

/** `tag` is the hash tag; it separates installations (and tests) that share one Redis. */
export function createKeys(tag = 'h'): Keys {
  const prefix = `{${tag}}:`;
  return {
    prefix,
    bull: `{${tag}}:bull`,
    of: (kind, id) => `${prefix}${kind}:${id}`,
    one: (name) => `${prefix}${name}`,
  };
}
