-- Extends the deadline of a task in progress. After the first heartbeat, the next must come within
-- busHeartbeatMs.
-- A: tenant, name, taskId, lease
-- outcome: ok {deadline} | not_found | lease_lost | wrong_state {state}
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
if not task.state then return answer('not_found') end
local fault = leaseFault(task)
if fault then return answer(fault) end
if task.state ~= 'in_progress' then return refuse(task) end
if task.worker ~= A.name then return answer('lease_lost') end
seen(T, A.name)
local deadline = now + C.busHeartbeatMs
redis.call('HSET', taskKey(T, A.taskId), 'deadline', deadline)
redis.call('ZADD', P .. 'bdue', deadline, T .. ':' .. A.taskId)
return answer('ok', { deadline = deadline })
