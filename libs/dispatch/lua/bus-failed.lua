-- A: tenant, taskId, lease?, reason
-- outcome: ok {existing, rung?} | not_found | lease_lost | lease_required | wrong_state {state}
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
if not task.state then return answer('not_found') end
local fault = leaseFault(task)
if fault then return answer(fault) end
if task.state == 'blocked' then return answer('ok', { existing = true }) end
if task.state ~= 'in_progress' then return refuse(task) end
seen(T, task.worker)
redis.call('HSET', taskKey(T, A.taskId), 'reason', A.reason)
dismiss(T, task, 'idle')
endLease(T, task)
moveTask(T, task, 'blocked')
busEvent(T, 'bus.task_blocked', { taskId = A.taskId, worker = task.worker, reason = A.reason })
return answer('ok', { existing = false, rung = report(task, failureOf(task, 'task_failed', A.reason)) })
