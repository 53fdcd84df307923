-- What scripts share: each gets the definitions that it uses (see link-script.ts), so every unindented line here defines
-- something. Scripts run alone in Redis, but a torn append-only file can apply half of one, so each repairs what an earlier
-- half may have left (see the header of each).
--
-- KEYS[1]  key prefix with its hash tag, e.g. "{h}:"; every key is made from it by key()
-- ARGV[1]  arguments, JSON object (A); A.seed is random, for tokens that a script makes
-- C        limits: retentionMs idemTtlMs eventCap runCap transcriptBytes maxMail maxAttempts maxDepth maxChildren maxChain,
--          of the bus: busAckMs busHeartbeatMs busSilentMs busAwayMs busMaxLosses busMaxTasks busMaxWorkers busDoneCap busEventCap
-- Answer   JSON object with `outcome`
-- Clock    redis TIME only, in ms

local P = KEYS[1]
local A = cjson.decode(ARGV[1])

local function key(kind, id) return P .. kind .. ':' .. id end
local function answer(outcome, fields)
  fields = fields or {}
  fields.outcome = outcome
  return cjson.encode(fields)
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Milliseconds need 13 digits; tostring() would round them to 1.7e+12.
local stamp = string.format('%.0f', now)

local function hash(name)
  local flat = redis.call('HGETALL', name)
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

-- Sets the fields of a table that have a value.
local function setFields(name, fields)
  local flat = {}
  for field, value in pairs(fields) do
    flat[#flat + 1] = field
    flat[#flat + 1] = value
  end
  redis.call('HSET', name, unpack(flat))
end

local function number(name, field) return tonumber(redis.call('HGET', name, field) or 0) or 0 end

-- A caller may name a thread itself. The thread's own id is then made from tenant and name, so that a name needs no table
-- and no tenant can take another's; `alias` keeps the name. Same in thread-id.ts.
local function idOfNamed(tenant, name) return 'thr_' .. string.sub(redis.sha1hex(tenant .. '\n' .. name), 1, 32) end
-- The id of the thread that a caller of this tenant means: a thread of the tenant's that has this id, or this name.
local function resolve(tenant, id)
  if redis.call('HGET', key('th', id), 'tenant') == tenant then return id end
  return idOfNamed(tenant, id)
end
-- The id by which callers know the thread.
local function shownId(threadId) return redis.call('HGET', key('th', threadId), 'alias') or threadId end

-- The id of a worker (workerId#incarnation) while it is alive, or nil.
local function livingId(owner)
  local workerId = owner and string.match(owner, '^(.-)#')
  return workerId and redis.call('GET', key('w', workerId)) == owner and workerId or nil
end
-- The id of the worker that owns the thread and is alive, or nil.
local function liveOwner(threadId) return livingId(redis.call('HGET', key('th', threadId), 'owner')) end

-- Tells the worker that owns a thread to look into its mailbox. False: nobody heard it, and a doorbell must ring.
local function ringOwner(threadId, owner)
  return owner ~= nil and redis.call('PUBLISH', key('ring', owner), threadId) > 0
end

-- D4: only the owner at its epoch has effects.
local function isHolder(owner, epoch) return owner == A.me and tonumber(epoch) == A.epoch end
local function fenced(threadId)
  local held = redis.call('HMGET', key('th', threadId), 'owner', 'epoch')
  return isHolder(held[1], held[2])
end

-- Raises a thread's epoch. A fail-over of Redis may take epochs back that were given out; the clock does not go back.
local function nextEpoch(threadId)
  local epoch = math.max(number(key('th', threadId), 'epoch') + 1, now)
  redis.call('HSET', key('th', threadId), 'epoch', string.format('%.0f', epoch))
  return epoch
end

-- What events need of a thread, read once a script. `tail`: of a root with threads below it, the id of the latest event.
local heads = {}
local function headOf(threadId)
  local head = heads[threadId]
  if not head then
    local found = redis.call('HMGET', key('th', threadId), 'root', 'alias', 'tail')
    head = { root = found[1], shown = found[2] or threadId, tail = found[3] }
    heads[threadId] = head
  end
  return head
end

-- The id of a thread's next event. Those of a tree are read together, in one order: once a thread has threads below it, its
-- root gives the ids of them all, and knows when each had its latest.
local function nextEventId(root, threadId)
  local head = headOf(root)
  if not head.tail then
    if root == threadId or not head.root then return '*' end
    local latest = redis.call('XREVRANGE', key('ev', root), '+', '-', 'COUNT', 1)[1]
    head.tail = latest and latest[1] or '0-0'
    redis.call('ZADD', key('evs', root), now, root)
  end
  local ms, n = string.match(head.tail, '^(%d+)%-(%d+)$')
  head.tail = tonumber(ms) >= now and string.format('%s-%d', ms, n + 1) or stamp .. '-0'
  redis.call('HSET', key('th', root), 'tail', head.tail)
  redis.call('ZADD', key('evs', root), string.match(head.tail, '^%d+'), threadId)
  return head.tail
end

-- Stores an event in the thread's log, and wakes those who watch it or its tree. `data` is a JSON object as text.
-- `isCopy`: the same is told on another thread of the tree, which shows it once.
local function addEvent(threadId, type, data, isCopy)
  local head = headOf(threadId)
  local root = head.root
  if not root then return nil end
  local entry = { key('ev', threadId), 'MAXLEN', '~', C.eventCap, nextEventId(root, threadId), 'type', type, 'at', stamp, 'threadId',
    head.shown, 'data', data, isCopy and 'copy' or nil, isCopy and '1' or nil }
  local id = redis.pcall('XADD', unpack(entry))
  if id.err then
    -- A torn log has lost the latest id.
    entry[5] = '*'
    id = redis.call('XADD', unpack(entry))
  end
  redis.call('PUBLISH', key('ch', threadId), '')
  if root ~= threadId then redis.call('PUBLISH', key('chtree', root), '') end
  return id
end

-- A task's event is seen on the parent's thread, where there is one, and on the task's own; once in the tree.
local function addTaskEvent(task, type, fields)
  fields.taskId = task.taskId
  fields.taskThreadId = task.threadId
  local data = cjson.encode(fields)
  local onParent = task.parentThreadId and addEvent(task.parentThreadId, type, data)
  addEvent(task.threadId, type, data, onParent and true)
end

-- Says something to every gateway, or to one, and keeps it for a while under an id for those that were cut off at that
-- moment. What is large, or for a gateway that is gone, is only said. `text` is a JSON object.
local function tellGateways(replica, text)
  local to = replica and ':' .. replica or ''
  if #text <= 65536 and (not replica or redis.call('EXISTS', key('gw', replica)) == 1) then
    local kept = P .. 'signals' .. to
    local id = redis.call('XADD', kept, 'MAXLEN', '~', 1000, '*', 'text', text)
    redis.call('PEXPIRE', kept, 3600000)
    text = '{"id":"' .. id .. '",' .. string.sub(text, 2)
  end
  redis.call('PUBLISH', P .. 'gateways' .. to, text)
end

-- The session of a thread lists its tools again, through whichever gateway it is connected to.
local function tellToolsChanged(threadId)
  tellGateways(nil, cjson.encode({ kind = 'list_changed', list = 'tools', keyId = threadId }))
end

local threadKeys = { 'th', 'mb', 'ev', 'evs', 'runs', 'led', 'kids', 'open', 'sess' }
-- The lists and sets of a thread's transcripts.
local function transcriptKeys(threadId)
  local found = {}
  for _, name in ipairs(redis.call('SMEMBERS', key('sess', threadId))) do
    local list = key('sess', threadId .. ':' .. name)
    found[#found + 1] = list
    found[#found + 1] = list .. ':uuids'
  end
  return found
end
-- A thread is kept while it has work, and for the time of retention after it: then the sweep forgets it. Its keys have no end
-- of their own (`kept`); those of earlier releases had, and lose it when they get work.
local function keepThread(threadId)
  for _, kind in ipairs(threadKeys) do redis.call('PERSIST', key(kind, threadId)) end
  for _, name in ipairs(transcriptKeys(threadId)) do redis.call('PERSIST', name) end
  redis.call('HSET', key('th', threadId), 'kept', '1')
end

-- Removes what is stored of a thread, but for its runs. The hash goes last, so that a torn log leaves what can be repeated.
local function forgetThread(threadId)
  local thread = redis.call('HMGET', key('th', threadId), 'tenant', 'parentThreadId', 'root')
  redis.call('ZREM', P .. 'pend', threadId)
  if thread[1] then redis.call('ZREM', key('ths', thread[1]), threadId) end
  if thread[2] then redis.call('SREM', key('kids', thread[2]), threadId) end
  if thread[3] then redis.call('ZREM', key('evs', thread[3]), threadId) end
  redis.call('PUBLISH', key('ch', threadId), '')
  if thread[3] == threadId then
    redis.call('DEL', key('tree', threadId)) -- of earlier releases
    redis.call('PUBLISH', key('chtree', threadId), '')
  end
  for _, name in ipairs(transcriptKeys(threadId)) do redis.call('DEL', name) end
  for i = #threadKeys, 1, -1 do redis.call('DEL', key(threadKeys[i], threadId)) end
end

-- Makes a thread. `fields` is an object of strings with `tenant` and `root`.
local function makeThread(threadId, fields)
  fields.createdAt = stamp
  fields.updatedAt = stamp
  fields.kept = '1'
  fields.epoch = stamp -- never an epoch that an earlier thread of this id had
  setFields(key('th', threadId), fields)
  heads[threadId] = nil
  redis.call('ZADD', key('ths', fields.tenant), now, threadId)
  redis.call('ZADD', P .. 'trim', 'NX', now + C.retentionMs, fields.tenant)
  addEvent(threadId, 'thread.created', cjson.encode({ parentThreadId = fields.parentAlias or fields.parentThreadId }))
end

-- The task that the end of a task below it goes on with: the thread's own, when its work waits for those tasks.
local function waitingTask(threadId)
  local taskId = redis.call('HGET', key('th', threadId), 'taskId')
  local task = taskId and hash(key('task', taskId))
  return task and task.status == 'working' and task.phase == 'children' and task or nil
end
-- Whether a run was overtaken by a message that interrupts what came before it. Mail of a task is never dropped so.
local function overtaken(threadId, seq, kind, interruptBefore)
  if kind ~= 'message' and (kind ~= 'notification' or waitingTask(threadId)) then return false end
  if interruptBefore == nil then interruptBefore = redis.call('HGET', key('th', threadId), 'interruptBefore') end
  return seq < (tonumber(interruptBefore) or 0)
end

-- Allow-lists of tools: a list of names, `x*` for all that begin with x; nil = all.
local function covers(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
    local beginning = string.match(one, '^(.*)%*$')
    if beginning and string.sub(name, 1, #beginning) == beginning then return true end
  end
  return false
end
-- What both allow.
local function commonTools(one, other)
  if not one or not other then return one or other end
  local kept, known = {}, {}
  local function keep(from, within)
    for _, name in ipairs(from) do
      if not known[name] and covers(within, name) then
        known[name] = true
        kept[#kept + 1] = name
      end
    end
  end
  keep(one, other)
  keep(other, one)
  return kept
end
local function decoded(text) return text and cjson.decode(text) or nil end
local function encodeList(list) return list and (#list == 0 and '[]' or cjson.encode(list)) or nil end

-- What the gateways know of an agent or a skill: {instructions, model?, tools?}; nil = not there.
local function profileOf(kind, name) return name and decoded(redis.call('HGET', key('profiles', kind), name)) end
-- The model of a thread's turns that name none.
local function modelOf(thread)
  local skill, agent = profileOf('skills', thread.skill), profileOf('agents', thread.agent)
  return (skill and skill.model) or thread.model or (agent and agent.model)
end
-- The tools of a thread (a hash): its own, of those its agent's, of those its active skill's. An agent that is gone
-- leaves none, for nobody knows which were meant, and so does a skill that is gone.
local function toolsOf(thread)
  local tools = decoded(thread.allowedTools)
  if thread.agent then tools = commonTools(tools, (profileOf('agents', thread.agent) or { tools = {} }).tools) end
  if thread.skill then tools = commonTools(tools, (profileOf('skills', thread.skill) or { tools = {} }).tools) end
  return tools
end
-- A run keeps what it began with, whatever becomes of its thread, agent and skill meanwhile: `began` is what its session
-- was given ('all' or a list), `tools` what is left of it where its sender's key or a skill has narrowed it.
local function toolsOfRun(thread, run)
  local tools = toolsOf(thread)
  return encodeList(tools) or 'all', run.tools and encodeList(commonTools(tools, decoded(run.tools)))
end
local function toolsInRun(thread, runId)
  if not runId then return toolsOf(thread) end
  local held = redis.call('HMGET', key('run', runId), 'tools', 'began')
  if held[1] then return decoded(held[1]) end
  if held[2] == 'all' then return nil end
  return decoded(held[2]) or toolsOf(thread)
end

-- Puts mail into a thread's mailbox; returns its run, as its hash is. The run's record comes first, so mail never lacks one.
local function deliver(threadId, mail)
  local th = key('th', threadId)
  local thread = redis.call('HMGET', th, 'tenant', 'alias', 'last', 'kept')
  local last = tonumber(thread[3]) or 0
  local seq = last + 1
  -- A torn earlier delivery may have left its entry without `last`: step over it, begin counts the gap.
  local tail = redis.call('XREVRANGE', key('mb', threadId), '+', '-', 'COUNT', 1)[1]
  if tail then seq = math.max(seq, tonumber(string.match(tail[1], '^%d+')) + 1) end
  local run = { runId = mail.runId, threadId = threadId, tenant = thread[1], alias = thread[2] or nil, seq = seq,
    kind = mail.kind, status = 'pending', attempt = 0, input = mail.input, createdAt = stamp, chain = mail.chain or mail.runId }
  for _, name in ipairs({ 'model', 'metadata', 'taskId', 'iteration', 'failure', 'tools' }) do run[name] = mail[name] end
  setFields(key('run', mail.runId), run)
  redis.call('HSET', th, 'last', seq, 'updatedAt', stamp)
  redis.call('XADD', key('mb', threadId), seq .. '-0', 'runId', mail.runId, 'kind', mail.kind)
  redis.call('ZADD', key('runs', threadId), seq, mail.runId)
  if seq > C.runCap then redis.call('ZREMRANGEBYRANK', key('runs', threadId), 0, -C.runCap - 1) end
  redis.call('ZADD', P .. 'pend', 'NX', now, threadId)
  if not thread[4] then keepThread(threadId) end
  run.eventId = addEvent(threadId, 'run.queued', cjson.encode({ runId = mail.runId, seq = seq, kind = mail.kind }))
  redis.call('HSET', key('run', mail.runId), 'eventId', run.eventId)
  return run
end

-- Mail of the system: delivered once per id; to a deleted thread it is dropped and counted; never refused as full.
local function deliverOnce(mail)
  if redis.call('EXISTS', key('th', mail.threadId)) == 0 then
    redis.call('INCR', P .. 'dropped')
    return nil
  end
  local sent = key('sent', mail.id)
  if redis.call('EXISTS', sent) == 1 then return nil end
  deliver(mail.threadId, mail)
  redis.call('SET', sent, mail.runId, 'PX', C.idemTtlMs)
  return liveOwner(mail.threadId) or ''
end

-- Flags a run as cancelled. A waiting one reads `cancelled` at once and is committed in its order; for a running one
-- the flag is the truth and the message on the owner's control channel the hurry.
local function cancelRun(threadId, runId)
  local run = key('run', runId)
  redis.call('HSET', run, 'cancel', '1')
  if redis.call('HGET', run, 'status') == 'pending' then
    redis.call('HSET', run, 'status', 'cancelled')
  else
    local owner = liveOwner(threadId)
    if owner then
      redis.call('PUBLISH', key('ctl', owner), cjson.encode({ action = 'cancel', threadId = threadId, runId = runId }))
    end
  end
end

local function cancelMail(threadId)
  for _, entry in ipairs(redis.call('XRANGE', key('mb', threadId), '-', '+')) do cancelRun(threadId, entry[2][2]) end
end

-- Tasks below a thread that are not done. What a torn log left in the list is taken out.
local function openBelow(threadId)
  local count = 0
  for _, taskId in ipairs(redis.call('SMEMBERS', key('open', threadId))) do
    if redis.call('HGET', key('task', taskId), 'status') == 'working' then
      count = count + 1
    else
      redis.call('SREM', key('open', threadId), taskId)
    end
  end
  return count
end

-- A run has its result, and its thread goes on; returns how many messages wait.
local function finishRun(threadId, seq)
  local th = key('th', threadId)
  redis.call('DEL', key('led', threadId))
  redis.call('HDEL', th, 'nonce', 'run', 'attempt')
  redis.call('HSET', th, 'done', seq)
  redis.call('XDEL', key('mb', threadId), seq .. '-0')
  local remaining = number(th, 'last') - seq
  if remaining > 0 then
    redis.call('ZADD', P .. 'pend', now, threadId)
  else
    redis.call('ZREM', P .. 'pend', threadId)
  end
  return remaining
end

-- Takes an ended task out of the lists of open work.
local function closeTask(task)
  if task.parentThreadId then redis.call('SREM', key('open', task.parentThreadId), task.taskId) end
  redis.call('ZREM', P .. 'working', task.taskId)
  redis.call('PEXPIRE', key('task', task.taskId), C.retentionMs)
end

-- Takes a delegated task's work off the bus: see bus.lua.
local withdrawFromBus

-- Cancels a task, what it still has to do, and the tasks below it.
local function cancelTask(taskId)
  local task = hash(key('task', taskId))
  if task.status ~= 'working' then return false end
  redis.call('HSET', key('task', taskId), 'status', 'cancelled', 'verdict', 'interrupted', 'updatedAt', stamp)
  closeTask(task)
  addTaskEvent(task, 'task.cancelled', {})
  if task.target == 'bus' then withdrawFromBus(task) end
  cancelMail(task.threadId)
  for _, child in ipairs(redis.call('SMEMBERS', key('open', task.threadId))) do cancelTask(child) end
  return true
end
