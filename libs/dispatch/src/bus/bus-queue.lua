-- The queue of a bus, and its waiting workers (shared definitions): B1, B3 and B4 of bus.lua are kept here.
-- Queued tasks lie in one list for each set of required labels, waiting workers in one for each set of their own.

-- Sends one gateway a signal about a poll that waits there. Not kept: after a disconnect the gateway asks
-- again.
local function signalPoll(replica, signal)
  redis.call('PUBLISH', P .. 'gateways:' .. replica, cjson.encode(signal))
end

-- What a set of labels is compared with: each label between commas. A set is its sorted names joined by commas; '' = none.
local function labelsIn(set)
  local list, have = {}, {}
  for one in string.gmatch(set, '[^,]+') do
    list[#list + 1] = ',' .. one .. ','
    have[one] = true
  end
  return { list = list, have = have }
end

-- Whether required labels are among those of a worker.
local function areWithin(requires, worker)
  for one in string.gmatch(requires, '[^,]+') do
    if not worker.have[one] then return false end
  end
  return true
end

-- Whether a worker's set includes the required labels. Both are sorted, so that one pass is enough.
local function includes(labels, required)
  local padded, at = ',' .. labels .. ',', 1
  for _, one in ipairs(required.list) do
    local _, last = string.find(padded, one, at, true)
    if not last then return false end
    at = last
  end
  return true
end

-- Whether tasks with this set of required labels would be one set too many: picking looks at each.
local function isOneSetTooMany(T, requires)
  return redis.call('SCARD', key('bqs', T)) >= C.busMaxTaskSets and redis.call('SISMEMBER', key('bqs', T), requires) == 0
end

-- The same for the sets of waiting workers: offering looks at each.
local function isOneWaitingSetTooMany(T, labels)
  return redis.call('SCARD', key('bwaits', T)) >= C.busMaxWaitingSets and redis.call('SISMEMBER', key('bwaits', T), labels) == 0
end

-- Priority before age, as one number: ages stay below 2^41 and priorities within ±1000, so the number is
-- exact.
local function placeOf(task) return -tonumber(task.priority) * 2199023255552 + tonumber(task.seq) end

local function dequeue(T, task)
  local list = key('bq', T .. ':' .. task.requires)
  redis.call('ZREM', list, task.taskId)
  if redis.call('EXISTS', list) == 0 then redis.call('SREM', key('bqs', T), task.requires) end
end

local function stopWaiting(T, name, labels)
  local list = key('bwait', T .. ':' .. labels)
  redis.call('ZREM', list, name)
  if redis.call('EXISTS', list) == 0 then redis.call('SREM', key('bwaits', T), labels) end
  count('polling', -redis.call('ZREM', key('bpolling', T), name))
  redis.call('ZREM', P .. 'bpolls', T .. ':' .. name)
end

-- The assignment as a poll returns it.
local function assignmentOf(T, id)
  local task = hash(taskKey(T, id))
  return { taskId = id, payload = task.payload, priority = tonumber(task.priority), requires = task.requires,
    attempt = tonumber(task.attempt), lease = task.lease, deadline = tonumber(task.deadline) }
end

-- B1. Assigns a queued task to a worker that polls or waits. The lease is a random token, derived from the
-- call's seed.
local function assign(T, task, name)
  local attempt = tonumber(task.attempt) + 1
  local lease = string.sub(redis.sha1hex(A.seed .. ':' .. T .. ':' .. task.taskId .. ':' .. attempt), 1, 32)
  local deadline = now + C.busAckMs
  dequeue(T, task)
  moveTask(T, task, 'assigned')
  redis.call('HSET', taskKey(T, task.taskId), 'lease', lease, 'attempt', attempt, 'worker', name, 'deadline', deadline)
  redis.call('ZADD', P .. 'bdue', deadline, T .. ':' .. task.taskId)
  moveWorker(T, name, 'pending')
  redis.call('HSET', workerKey(T, name), 'task', task.taskId)
  busEvent(T, 'bus.task_assigned', { taskId = task.taskId, worker = name, attempt = attempt, priority = tonumber(task.priority) })
  return assignmentOf(T, task.taskId)
end

-- The first queued task that fits a worker with these labels, or nil. Tasks that return to the queue can make more sets than
-- are accepted; of very many, some are looked at.
local function pick(T, labels)
  local id, place
  local worker = labelsIn(labels)
  for _, requires in ipairs(redis.call('SRANDMEMBER', key('bqs', T), 2 * C.busMaxTaskSets)) do
    if areWithin(requires, worker) then
      local list = key('bq', T .. ':' .. requires)
      local head = redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')
      while head[1] and (not place or tonumber(head[2]) < place) and redis.call('HGET', taskKey(T, head[1]), 'state') ~= 'queued' do
        redis.call('ZREM', list, head[1])
        head = redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')
      end
      if head[1] and (not place or tonumber(head[2]) < place) then id, place = head[1], tonumber(head[2]) end
    end
  end
  return id and hash(taskKey(T, id))
end

-- The longest-waiting worker of one list whose gateway is alive and whose poll is not over; others are
-- removed from it. `before`: only one that has waited for longer.
local function firstWaiting(T, labels, before)
  while true do
    local head = redis.call('ZRANGE', key('bwait', T .. ':' .. labels), 0, 0, 'WITHSCORES')
    if not head[1] or before and tonumber(head[2]) >= before then return nil end
    local worker = hash(workerKey(T, head[1]))
    if worker.state == 'polling' and worker.labels == labels and tonumber(worker['until']) >= now
      and redis.call('EXISTS', key('gw', worker.replica)) == 1 then
      return worker, tonumber(head[2])
    end
    stopWaiting(T, head[1], labels)
    if worker.state == 'polling' then moveWorker(T, head[1], 'idle') end
  end
end

-- B3 from the task's side: assigns it to the longest-waiting worker that fits, if any.
local function offer(T, task)
  local worker, since
  local required = labelsIn(task.requires)
  for _, labels in ipairs(redis.call('SMEMBERS', key('bwaits', T))) do
    if includes(labels, required) then
      local candidate, at = firstWaiting(T, labels, since)
      if candidate then worker, since = candidate, at end
    end
  end
  if not worker then return end
  stopWaiting(T, worker.name, worker.labels)
  signalPoll(worker.replica, { kind = 'bus_assigned', poll = worker.poll, task = assign(T, task, worker.name) })
end

-- B3 from the worker's side, after pick() found no task: adds it to the waiting workers. `since`:
-- microseconds.
local function wait(T, worker, since)
  redis.call('ZADD', key('bwait', T .. ':' .. worker.labels), since, worker.name)
  redis.call('SADD', key('bwaits', T), worker.labels)
  count('polling', redis.call('ZADD', key('bpolling', T), since, worker.name))
  redis.call('ZADD', P .. 'bpolls', worker['until'], T .. ':' .. worker.name)
end

-- B4. Puts a task into the queue, from any state.
local function enqueue(T, task, reason)
  endLease(T, task)
  redis.call('HDEL', taskKey(T, task.taskId), 'lease', 'worker')
  moveTask(T, task, 'queued')
  redis.call('ZADD', key('bq', T .. ':' .. task.requires), placeOf(task), task.taskId)
  redis.call('SADD', key('bqs', T), task.requires)
  busEvent(T, 'bus.task_queued', { taskId = task.taskId, reason = reason, priority = tonumber(task.priority) })
  offer(T, task)
end

-- Adds a new task. `task`: taskId, payload (JSON text), priority, requires, delegated?, iteration?
local function submit(T, task)
  local name = taskKey(T, task.taskId)
  task.seq = redis.call('INCR', key('bseq', T))
  task.attempt = 0
  for field, value in pairs(task) do redis.call('HSET', name, field, value) end
  redis.call('HSET', name, 'createdAt', stamp, 'losses', 0)
  redis.call('ZADD', key('bts', T), now, task.taskId)
  redis.call('SADD', P .. 'btenants', T)
  redis.call('ZADD', P .. 'btidy', 'NX', now, T)
  enqueue(T, task, 'submitted')
end
