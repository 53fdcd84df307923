-- Ends an acknowledged task with its result (B2). A repeat of the accepted result is a success that changes
-- nothing; another result is refused.
-- A: tenant, taskId, name?, lease?, result? (JSON text), digest (of the result), text (of the result, for a
--    review)
-- outcome: ok {existing, rung?} | conflict | not_found | lease_lost | lease_required | wrong_state {state}
local T = A.tenant
local task = hash(taskKey(T, A.taskId))
if not task.state then return answer('not_found') end
local fault = leaseFault(task)
if fault then return answer(fault) end
if task.state == 'done' then
  local same = task.digest and task.digest == A.digest or not task.digest and task.result == A.result
  if same then return answer('ok', { existing = true }) end
  return answer('conflict')
end
if task.state ~= 'in_progress' then return refuse(task) end
seen(T, task.worker)
redis.call('HSET', taskKey(T, A.taskId), 'digest', A.digest)
if A.result then redis.call('HSET', taskKey(T, A.taskId), 'result', A.result) end
dismiss(T, task, 'idle')
endLease(T, task)
moveTask(T, task, 'done')
busEvent(T, 'bus.task_done', { taskId = A.taskId, worker = task.worker, attempt = tonumber(task.attempt) })
return answer('ok', { existing = false, rung = report(task, { text = A.text }) })
