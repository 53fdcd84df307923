-- The work of delegated tasks on the bus (shared definitions): one bus task for each iteration. Its outcome goes to the
-- delegated task's thread, as mail for review. An assignment that is lost too often is such an outcome, too.

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
