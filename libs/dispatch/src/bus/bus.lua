-- The bus of external workers (shared definitions: scripts of delegated tasks use it, too).
-- Each tenant (T) has one bus. `id` is a bus task's id, chosen by the submitter.
--
-- A bus task. Every arrow is one script; a move from any other state is refused with the current state.
--
--                  +-- poller left, reset_worker, or -+
--                  v  unacknowledged for busAckMs     |
--   submit --> queued --poll, or a worker waits--> assigned --ack--> in_progress --done--> done
--              ^ ^ ^                                                  | |    |
--              | | +---- silent for busSilentMs, reset_worker --------+ |    +--failed--> blocked
--              | +------------------- retry_task -----------------------+                   |
--              +--------------------- retry_task, from dead, too ---------------------------+
--   assigned, in_progress --lost for the busMaxLosses-th time--> dead
--   queued, assigned, in_progress --the delegated task is cancelled--> withdrawn
--
-- A worker: idle --poll--> polling --assigned--> pending --ack--> executing --done, failed--> idle;
-- pending, executing --its lease runs out--> lost --poll, register, reset--> idle or polling; reset: any --> idle.
--
-- B1 A task has at most one valid lease: assign() alone creates one, and enqueue() ends it.
-- B2 A task has at most one accepted result: only in_progress becomes done, and done is final.
-- B3 A queued task and a waiting worker that fit each other never coexist: whichever is added looks for the
-- other in the same script.
-- B4 The order is priority, then age (submission): a task that returns to the queue gets its old position.
-- Repair: the hashes are the source of truth. A name in a list whose hash disagrees is dropped when found; a
--    name that a torn log dropped from its list is added again by the sweep.

-- Keys of a task's hash, a worker's hash, and the list of tasks in a state. Other lists are named where they
-- are used.
local function taskKey(T, id) return key('bt', T .. ':' .. id) end
local function workerKey(T, name) return key('bw', T .. ':' .. name) end
local function inState(T, state) return key('bst', T .. ':' .. state) end

local function busEvent(T, type, fields)
  redis.call('XADD', key('bev', T), 'MAXLEN', '~', C.busEventCap, '*', 'type', type, 'at', stamp, 'data', cjson.encode(fields))
  redis.call('PUBLISH', key('chbus', T), '')
end

-- Sends one gateway a signal about a poll that waits there. Not kept: after a disconnect the gateway asks
-- again.
local function tellPoll(replica, signal)
  redis.call('PUBLISH', P .. 'gateways:' .. replica, cjson.encode(signal))
end

-- Whether a worker's labels include all required ones. Both are sorted names joined by commas; '' = none.
local function fits(requires, labels)
  local padded = ',' .. labels .. ','
  for one in string.gmatch(requires, '[^,]+') do
    if not string.find(padded, ',' .. one .. ',', 1, true) then return false end
  end
  return true
end

-- Priority before age, as one number: ages stay below 2^41 and priorities within ±1000, so the number is
-- exact.
local function placeOf(task) return -tonumber(task.priority) * 2199023255552 + tonumber(task.seq) end

-- Updates the totals of all buses: tasks by state, workers, waiting workers. Does nothing while the totals
-- are missing: a partial hash would never be computed anew.
local function count(what, change)
  if change ~= 0 and redis.call('EXISTS', P .. 'bcounts') == 1 then redis.call('HINCRBY', P .. 'bcounts', what, change) end
end

-- Computes the totals if they are missing: at first, and after note-server.lua has deleted them.
local function countAll()
  if redis.call('EXISTS', P .. 'bcounts') == 1 then return end
  local sums = { workers = 0, polling = 0 }
  for _, T in ipairs(redis.call('SMEMBERS', P .. 'btenants')) do
    redis.call('ZADD', P .. 'btidy', 'NX', now, T)
    for _, state in ipairs({ 'queued', 'assigned', 'in_progress', 'done', 'blocked', 'dead', 'withdrawn' }) do
      sums[state] = (sums[state] or 0) + redis.call('ZCARD', inState(T, state))
    end
    sums.workers = sums.workers + redis.call('ZCARD', key('bws', T))
    sums.polling = sums.polling + redis.call('ZCARD', key('bpolling', T))
  end
  setFields(P .. 'bcounts', sums)
end

local function moveTask(T, task, state)
  if task.state then count(task.state, -redis.call('ZREM', inState(T, task.state), task.taskId)) end
  count(state, redis.call('ZADD', inState(T, state), now, task.taskId))
  redis.call('HSET', taskKey(T, task.taskId), 'state', state, 'updatedAt', stamp)
  task.state = state
end

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

local function moveWorker(T, name, state)
  redis.call('HSET', workerKey(T, name), 'state', state, 'since', stamp)
  if state ~= 'pending' and state ~= 'executing' then redis.call('HDEL', workerKey(T, name), 'task') end
  if state ~= 'pending' and state ~= 'polling' then redis.call('HDEL', workerKey(T, name), 'poll', 'replica', 'until') end
end

local function seen(T, name)
  redis.call('HSET', workerKey(T, name), 'seenAt', stamp)
  count('workers', redis.call('ZADD', key('bws', T), now, name))
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

-- The first queued task that fits a worker with these labels, or nil.
local function pick(T, labels)
  local id, place
  for _, requires in ipairs(redis.call('SMEMBERS', key('bqs', T))) do
    if fits(requires, labels) then
      local list = key('bq', T .. ':' .. requires)
      local head = redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')
      while head[1] and redis.call('HGET', taskKey(T, head[1]), 'state') ~= 'queued' do
        redis.call('ZREM', list, head[1])
        head = redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')
      end
      if head[1] and (not place or tonumber(head[2]) < place) then id, place = head[1], tonumber(head[2]) end
    end
  end
  return id and hash(taskKey(T, id))
end

-- The longest-waiting worker of one list whose gateway is alive and whose poll is not over; others are
-- removed from it.
local function firstWaiting(T, labels)
  while true do
    local head = redis.call('ZRANGE', key('bwait', T .. ':' .. labels), 0, 0, 'WITHSCORES')
    if not head[1] then return nil end
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
  for _, labels in ipairs(redis.call('SMEMBERS', key('bwaits', T))) do
    if fits(task.requires, labels) then
      local candidate, at = firstWaiting(T, labels)
      if candidate and (not since or at < since) then worker, since = candidate, at end
    end
  end
  if not worker then return end
  stopWaiting(T, worker.name, worker.labels)
  tellPoll(worker.replica, { kind = 'bus_assigned', poll = worker.poll, task = assign(T, task, worker.name) })
end

-- B3 from the worker's side, after pick() found no task: adds it to the waiting workers. `since`:
-- microseconds.
local function wait(T, worker, since)
  redis.call('ZADD', key('bwait', T .. ':' .. worker.labels), since, worker.name)
  redis.call('SADD', key('bwaits', T), worker.labels)
  count('polling', redis.call('ZADD', key('bpolling', T), since, worker.name))
  redis.call('ZADD', P .. 'bpolls', worker['until'], T .. ':' .. worker.name)
end

-- Whether the worker has this task and has not acknowledged it yet.
local function isPendingOn(task, name) return task.state == 'assigned' and task.worker == name end

-- Releases the worker of an assignment that ends, unless it has another task by now.
local function dismiss(T, task, state)
  if task.worker and redis.call('HGET', workerKey(T, task.worker), 'task') == task.taskId then
    moveWorker(T, task.worker, state)
  end
end

local function endLease(T, task)
  redis.call('ZREM', P .. 'bdue', T .. ':' .. task.taskId)
  redis.call('HDEL', taskKey(T, task.taskId), 'deadline')
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

-- Number of a tenant's unfinished tasks.
local function openTasks(T)
  local open = 0
  for _, state in ipairs({ 'queued', 'assigned', 'in_progress', 'blocked', 'dead' }) do
    open = open + redis.call('ZCARD', inState(T, state))
  end
  return open
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

-- A run id made in a script: in the form of a UUIDv4, random by the call's seed.
local function runIdOf(salt)
  local hex = redis.sha1hex(A.seed .. ':' .. salt)
  return 'run_' .. string.sub(hex, 1, 12) .. '4' .. string.sub(hex, 14, 16) .. 'a' .. string.sub(hex, 18, 32)
end

-- Delivers the outcome of a delegated task's work to its thread, as mail for review. Returns { threadId,
-- owner? } to ring, or nil.
-- `outcome`: text (a result) or failure (JSON text).
local function report(task, outcome)
  if not task.delegated then return nil end
  local delegated = hash(key('task', task.delegated))
  if delegated.status ~= 'working' or delegated.iteration ~= task.iteration then return nil end
  local mail = { id = task.taskId .. ':review', threadId = delegated.threadId, runId = runIdOf(task.taskId), kind = 'review',
    input = outcome.text or '', failure = outcome.failure, taskId = task.delegated, iteration = task.iteration,
    chain = delegated.chain }
  if outcome.text then redis.call('HSET', key('task', task.delegated), 'phase', 'review', 'result', outcome.text, 'updatedAt', stamp) end
  local owner = deliverOnce(mail)
  return owner and { threadId = delegated.threadId, owner = owner ~= '' and owner or nil }
end

local function failureOf(task, code, reason)
  return { failure = cjson.encode({ code = code, message = 'On the bus, as ' .. task.taskId .. ': ' .. reason }) }
end

-- Expires an assignment. Returns the thread to ring if this dead-letters a delegated task.
local function lose(T, task, reason)
  local losses = redis.call('HINCRBY', taskKey(T, task.taskId), 'losses', 1)
  if task.worker then
    dismiss(T, task, 'lost')
    busEvent(T, 'bus.worker_lost', { worker = task.worker, taskId = task.taskId, reason = reason })
  end
  if losses < C.busMaxLosses then return enqueue(T, task, reason) end
  endLease(T, task)
  moveTask(T, task, 'dead')
  redis.call('HSET', taskKey(T, task.taskId), 'reason', reason)
  busEvent(T, 'bus.task_dead', { taskId = task.taskId, reason = reason, losses = losses })
  return report(task, failureOf(task, 'attempts_exhausted', 'lost ' .. losses .. ' times, at last ' .. reason .. '.'))
end

-- Whether the caller holds the task's assignment: nil, or the reason why not. The lease identifies the
-- assignment; without it the worker's name does; without both, the task must have been assigned only once.
local function leaseFault(task)
  local attempt = tonumber(task.attempt)
  if A.lease then return A.lease ~= task.lease and 'lease_lost' or nil end
  if A.name then return attempt > 0 and task.worker ~= A.name and 'lease_lost' or nil end
  return attempt > 1 and 'lease_required' or nil
end

-- The result of an illegal move, with the current state.
local function refuse(task) return answer('wrong_state', { state = task.state }) end

-- Submits one iteration of a delegated task to the bus, once.
local function delegateToBus(task, iteration, words)
  local id = task.taskId .. '.' .. iteration
  if redis.call('EXISTS', taskKey(task.tenant, id)) == 1 then return end
  keepThread(task.threadId)
  submit(task.tenant, { taskId = id, payload = cjson.encode({ prompt = words, iteration = tonumber(iteration) }), priority = 0,
    requires = '', delegated = task.taskId, iteration = iteration })
end

-- Declared in tasks.lua.
withdrawFromBus = function(task)
  local T = task.tenant
  local found = hash(taskKey(T, task.taskId .. '.' .. task.iteration))
  if found.state == 'queued' then
    dequeue(T, found)
  elseif found.state == 'assigned' or found.state == 'in_progress' then
    dismiss(T, found, 'idle')
    endLease(T, found)
  else
    return
  end
  moveTask(T, found, 'withdrawn')
  busEvent(T, 'bus.task_withdrawn', { taskId = found.taskId })
end
