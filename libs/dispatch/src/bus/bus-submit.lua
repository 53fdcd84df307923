-- Submits a task. One id is one task for as long as it is kept: a repeat does not change its payload.
-- A: tenant, taskId, payload (JSON text), priority, requires
-- outcome: queued {state} | existing {state} | full {limit} | too_many_sets {limit} (of required labels)
local state = redis.call('HGET', taskKey(A.tenant, A.taskId), 'state')
if state then return answer('existing', { state = state }) end
if openTasks(A.tenant) >= C.busMaxTasks then return answer('full', { limit = C.busMaxTasks }) end
if isOneSetTooMany(A.tenant, A.requires) then return answer('too_many_sets', { limit = C.busMaxTaskSets }) end
submit(A.tenant, { taskId = A.taskId, payload = A.payload, priority = A.priority, requires = A.requires })
return answer('queued', { state = redis.call('HGET', taskKey(A.tenant, A.taskId), 'state') })
