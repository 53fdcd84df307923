-- Acknowledges an assignment: the task is in progress. A repeat changes nothing.
-- A: tenant, name, taskId, lease?
-- outcome: ok {deadline} | not_found | lease_lost | lease_required | wrong_state {state}
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
if not task.state then return answer('not_found') end
local fault = leaseFault(task)
if fault then return answer(fault) end
if task.state ~= 'assigned' and task.state ~= 'in_progress' then return refuse(task) end
if task.worker ~= A.name then return answer('lease_lost') end
seen(T, A.name)
if task.state == 'in_progress' then return answer('ok', { deadline = tonumber(task.deadline) }) end
local deadline = now + C.busSilentMs
redis.call('HSET', taskKey(T, A.taskId), 'deadline', deadline)
redis.call('ZADD', P .. 'bdue', deadline, T .. ':' .. A.taskId)
moveTask(T, task, 'in_progress')
moveWorker(T, A.name, 'executing')
busEvent(T, 'bus.task_in_progress', { taskId = A.taskId, worker = A.name, attempt = tonumber(task.attempt) })
return answer('ok', { deadline = deadline })
