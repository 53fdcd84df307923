-- A: tenant, taskId, lease?, result? (JSON text), text (of the result, for a review)
-- outcome: ok {existing, rung?} | not_found | lease_lost | lease_required | wrong_state {state}
-- B2. A repeat by the lease whose result was accepted is a success that changes nothing.
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
if not task.state then return answer('not_found') end
local fault = leaseFault(task)
if fault then return answer(fault) end
if task.state == 'done' then return answer('ok', { existing = true }) end
if task.state ~= 'in_progress' then return refuse(task) end
seen(T, task.worker)
if A.result then redis.call('HSET', taskKey(T, A.taskId), 'result', A.result) end
dismiss(T, task, 'idle')
endLease(T, task)
moveTask(T, task, 'done')
busEvent(T, 'bus.task_done', { taskId = A.taskId, worker = task.worker, attempt = tonumber(task.attempt) })
return answer('ok', { existing = false, rung = report(task, { text = A.text }) })
