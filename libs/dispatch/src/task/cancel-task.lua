-- Cancels a task and everything below it; its parent is notified by mail.
-- A: tenant, taskId, mail {id, runId, kind, input}
-- outcome: ok {rung?} | ended | not_found
local task = hash(key('task', A.taskId))
if task.tenant ~= A.tenant then return answer('not_found') end
if not cancelTask(A.taskId) then return answer('ended') end
local rung
if task.parentThreadId then
  A.mail.threadId = task.parentThreadId
  A.mail.chain = task.chain
  giveRights(A.mail, task)
  local owner = deliverOnce(A.mail)
  if owner then rung = { threadId = task.parentThreadId, owner = owner ~= '' and owner or nil } end
end
return answer('ok', { rung = rung, threadId = task.threadId, owner = liveOwner(task.threadId) })
