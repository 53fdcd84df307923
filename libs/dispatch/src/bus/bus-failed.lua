-- Ends an acknowledged task with a failure.
-- A: tenant, taskId, name?, lease?, reason
-- outcome: ok {existing, final (a delegated task fails with it), rung?} | not_found | lease_lost |
--    lease_required | wrong_state {state}
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
if not task.state then return answer('not_found') end
local fault = leaseFault(task)
if fault then return answer(fault) end
local final = task.delegated ~= nil
if task.state == 'blocked' then return answer('ok', { existing = true, final = final }) end
if task.state ~= 'in_progress' then return refuse(task) end
seen(T, task.worker)
redis.call('HSET', taskKey(T, A.taskId), 'reason', A.reason)
dismiss(T, task, 'idle')
endLease(T, task)
moveTask(T, task, 'blocked')
busEvent(T, 'bus.task_blocked', { taskId = A.taskId, worker = task.worker, reason = A.reason })
return answer('ok', { existing = false, final = final, rung = report(task, failureOf(task, 'task_failed', A.reason)) })
