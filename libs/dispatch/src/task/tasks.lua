-- Delegated tasks: open work below a thread, closing and cancelling.

-- The thread's own task, if it waits for the tasks below it (phase `children`): a notification continues it.
local function waitingTask(threadId)
  local taskId = redis.call('HGET', key('th', threadId), 'taskId')
  local task = taskId and hash(key('task', taskId))
  return task and task.status == 'working' and task.phase == 'children' and task or nil
end

-- Whether a later message with strategy `interrupt` ends this run. Mail of a task is never interrupted.
local function overtaken(threadId, seq, kind, interruptBefore)
  if kind ~= 'message' and (kind ~= 'notification' or waitingTask(threadId)) then return false end
  if interruptBefore == nil then interruptBefore = redis.call('HGET', key('th', threadId), 'interruptBefore') end
  return seq < (tonumber(interruptBefore) or 0)
end

-- Number of open tasks below a thread. Entries that a torn log left in the list are removed.
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

-- Gives a mail of the system the rights of the one who created the task: it may cause no more than that one may.
local function giveRights(mail, task)
  if not task then return end
  for _, name in ipairs({ 'keyId', 'scopes', 'tools', 'rightsUntil', 'grantedAt' }) do mail[name] = task[name] end
end

-- Removes an ended task from the lists of open work.
local function closeTask(task)
  dropHeld('openTasks', task.tenant, task.taskId, task.heldBy)
  if task.parentThreadId then redis.call('SREM', key('open', task.parentThreadId), task.taskId) end
  redis.call('ZREM', P .. 'working', task.taskId)
  redis.call('PEXPIRE', key('task', task.taskId), C.retentionMs)
end

-- Withdraws a delegated task's work from the bus: defined in bus-delegated.lua.
local withdrawFromBus

-- Cancels a task, its waiting mail, and the tasks below it.
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
