-- Puts a task back into the queue and resets its losses; a worker that has it loses its lease.
-- A: tenant, taskId
-- outcome: ok {before} | not_found | wrong_state {state} | ended (the delegated task that it was work for has
--    failed)
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
local before = task.state
if not before then return answer('not_found') end
if before ~= 'in_progress' and before ~= 'blocked' and before ~= 'dead' then return refuse(task) end
-- A blocked or dead task has failed its delegated task, or will when the mail about it is read.
if task.delegated and before ~= 'in_progress' then return answer('ended') end
dismiss(T, task, 'idle')
redis.call('HSET', taskKey(T, A.taskId), 'losses', 0)
redis.call('HDEL', taskKey(T, A.taskId), 'reason')
enqueue(T, task, 'retried')
return answer('ok', { before = before })
