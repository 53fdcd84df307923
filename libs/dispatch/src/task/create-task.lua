-- Creates a delegated task, its thread and its first mail, once per key, within the limits of depth, fan-out
-- and chain.
-- A: tenant, taskId, threadId, runId, prompt, maxIterations, target (fleet | bus), model?, agent?, allowedTools? [name], trace?, skill? (JSON text {name, arguments}),
--    workspace? ('1' | '0'), withoutFiles? (it does not begin with its parent's files),
--    sender? {keyId, scopes?, tools?}, quota?, parentThreadId?, idemHash? + bodyHash? (REST),
--    call? {runId, toolUseId?, argsHash, attempt} (a turn's tool call)
-- outcome: created | existing {taskId, owner?} | conflict | parent_not_found | agent_not_found | depth |
--    cancelled (the run that calls) | children | chain | bus_full | quota {limit, of, allowed}
-- Repair: the sweep finds a task whose mail a torn log lost; a key without its task counts as unknown.
if A.parentThreadId then A.parentThreadId = resolve(A.tenant, A.parentThreadId) end
local parent = A.parentThreadId and hash(key('th', A.parentThreadId)) or {}
if A.parentThreadId and parent.tenant ~= A.tenant then return answer('parent_not_found') end

local function existing(taskId)
  local threadId = redis.call('HGET', key('task', taskId), 'threadId')
  return threadId and answer('existing', { taskId = taskId, threadId = threadId, owner = liveOwner(threadId) })
end

local byKey = A.idemHash and key('idem', A.tenant .. ':' .. A.idemHash)
local byUse = A.call and A.call.toolUseId and key('idem', 'task:' .. A.parentThreadId .. ':' .. A.call.toolUseId)
local byArgs = A.call and key('idem', 'task:' .. A.call.runId .. ':' .. A.call.argsHash)
if byKey then
  local known = redis.call('GET', byKey)
  known = known and cjson.decode(known)
  if known and known.bodyHash ~= A.bodyHash then return answer('conflict') end
  local found = known and existing(known.taskId or '')
  if found then return found end
end
if byUse then
  local taskId = redis.call('GET', byUse)
  local found = taskId and existing(taskId)
  if found then return found end
end
if byArgs then
  -- The same call from an earlier attempt, or one whose tool result the model never saw, means the same task.
  local known = redis.call('GET', byArgs)
  known = known and cjson.decode(known)
  if known then
    local delivered = known.toolUseId and redis.call('HEXISTS', key('led', A.parentThreadId), known.toolUseId) == 1
    if known.attempt < A.call.attempt or not delivered then
      local found = existing(known.taskId)
      if found then return found end
    end
  end
end

-- A session whose run was cancelled may still send a call. Its task would not be cancelled: the tasks below were cancelled before.
if A.call and redis.call('HGET', key('run', A.call.runId), 'cancel') then return answer('cancelled') end
local agent = profileOf('agents', A.agent, A.tenant)
if A.agent and not agent then return answer('agent_not_found') end
local depth = A.parentThreadId and (tonumber(parent.depth) or 0) + 1 or 0
if depth > C.maxDepth then return answer('depth', { limit = C.maxDepth }) end
if A.parentThreadId and redis.call('SCARD', key('open', A.parentThreadId)) >= C.maxChildren then
  return answer('children', { limit = C.maxChildren })
end
local chain = A.call and redis.call('HGET', key('run', A.call.runId), 'chain') or parent.chain or A.runId
local counter = key('chain', chain)
if tonumber(redis.call('GET', counter) or 0) >= C.maxChain then return answer('chain', { limit = C.maxChain }) end
if A.target == 'bus' and openTasks(A.tenant) >= C.busMaxTasks then return answer('bus_full', { limit = C.busMaxTasks }) end

local reached = quotaReached('openTasks', A.tenant) or quotaReached('threads', A.tenant) or quotaReached('runsPerDay', A.tenant)
if reached then return answer('quota', reached) end

if byKey then redis.call('SET', byKey, cjson.encode({ taskId = A.taskId, bodyHash = A.bodyHash }), 'PX', C.idemTtlMs) end
if byUse then redis.call('SET', byUse, A.taskId, 'PX', C.idemTtlMs) end
if byArgs then
  local record = { taskId = A.taskId, attempt = A.call.attempt, toolUseId = A.call.toolUseId }
  redis.call('SET', byArgs, cjson.encode(record), 'PX', C.idemTtlMs)
end
local task = key('task', A.taskId)
redis.call('HSET', task, 'taskId', A.taskId, 'threadId', A.threadId, 'tenant', A.tenant, 'prompt', A.prompt, 'status',
  'working', 'phase', 'turn', 'iteration', 1, 'maxIterations', A.maxIterations, 'target', A.target, 'chain', chain, 'createdAt', stamp,
  'updatedAt', stamp)
A.parentAlias = parent.alias
-- The rights of its creator: those of the run whose agent delegates, or of the caller.
local sender = A.sender or {}
local creator = A.call and redis.call('HMGET', key('run', A.call.runId), 'keyId', 'scopes', 'rightsUntil', 'grantedAt') or {}
local tools = commonTools(toolsInRun(parent, A.call and A.call.runId), sender.tools)
A.keyId = creator[1] or sender.keyId
A.scopes = creator[2] or encodeList(sender.scopes)
A.tools = encodeList(tools)
A.rightsUntil = creator[3] or sender.rightsUntil
A.grantedAt = creator[4] or stamp
A.heldBy = hold('openTasks', A.tenant, A.taskId)
countRun(A.tenant)
for _, name in ipairs({ 'parentThreadId', 'parentAlias', 'model', 'keyId', 'scopes', 'tools', 'rightsUntil', 'grantedAt', 'heldBy', 'trace' }) do
  if A[name] then redis.call('HSET', task, name, A[name]) end
end
redis.call('ZADD', key('tasks', A.tenant), now, A.taskId)
redis.call('ZADD', P .. 'working', now, A.taskId)
redis.call('INCR', counter)
redis.call('PEXPIRE', counter, C.retentionMs)

local fields = { tenant = A.tenant, root = parent.root or A.threadId, depth = depth, taskId = A.taskId, chain = chain }
fields.parentThreadId, fields.parentAlias = A.parentThreadId, A.parentAlias
-- A child's tools are a subset of its parent's.
fields.allowedTools = encodeList(commonTools(tools, A.allowedTools))
fields.agent = A.agent
-- The parent's model, unless its agent has a model of its own.
fields.model = A.model or (not (agent and agent.model) and modelOf(parent)) or nil
-- A thread that may have no workspace cannot get one by delegating.
fields.workspace = parent.workspace == '0' and '0' or A.workspace or parent.workspace
if fields.workspace ~= '0' and not A.withoutFiles then fields.files = parent.files end
makeThread(A.threadId, fields)
if A.parentThreadId then
  redis.call('SADD', key('kids', A.parentThreadId), A.threadId)
  redis.call('SADD', key('open', A.parentThreadId), A.taskId)
end
local created = { taskId = A.taskId, threadId = A.threadId, parentThreadId = A.parentThreadId, prompt = A.prompt }
addTaskEvent(created, 'task.created', { prompt = A.prompt, maxIterations = A.maxIterations })
if A.target == 'bus' then
  delegateToBus(hash(task), 1, A.prompt)
else
  deliver(A.threadId, { runId = A.runId, kind = 'delegate', input = A.prompt, model = A.model, chain = chain,
    taskId = A.taskId, iteration = 1, keyId = A.keyId, scopes = A.scopes, rightsUntil = A.rightsUntil,
    grantedAt = A.grantedAt, trace = A.trace, skill = A.skill })
end
return answer('created', { taskId = A.taskId, threadId = A.threadId })
