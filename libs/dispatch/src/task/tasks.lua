-- Delegated tasks: what is open below a thread, and how one is closed or cancelled.

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
