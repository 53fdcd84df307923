-- Sends a working task that has no mail its next mail again.
-- A: taskId, runId
-- outcome: ok {threadId, owner?} | fine (nothing to repair)
local task = hash(key('task', A.taskId))
if task.status ~= 'working' then return answer('fine') end
if redis.call('HEXISTS', key('th', task.threadId), 'tenant') == 0 then
  cancelTask(A.taskId)
  return answer('fine')
end
if redis.call('XLEN', key('mb', task.threadId)) > 0 then return answer('fine') end
local mail = { runId = A.runId, taskId = A.taskId, iteration = task.iteration, model = task.model, chain = task.chain }
if task.target == 'bus' and task.phase ~= 'review' then
  -- Its work is on the bus: submit again what a torn log lost, and deliver the outcome again.
  local id = task.taskId .. '.' .. task.iteration
  local found = hash(taskKey(task.tenant, id))
  local ring
  if not found.state then
    delegateToBus(task, task.iteration, task.words or task.prompt)
  elseif found.state == 'done' then
    ring = report(found, { text = found.result or '' })
  elseif found.state == 'blocked' or found.state == 'dead' then
    ring = report(found, failureOf(found, 'attempts_exhausted', found.reason or found.state))
  end
  return ring and answer('ok', ring) or answer('fine')
end
if task.phase == 'children' then
  if openBelow(task.threadId) > 0 then return answer('fine') end
  -- A torn log lost the last notification from below.
  redis.call('HSET', key('task', task.taskId), 'phase', 'review')
  task.phase = 'review'
end
if task.phase == 'review' then
  mail.kind, mail.input = 'review', task.result or ''
elseif task.words then
  mail.kind, mail.input = 'feedback', task.words
else
  mail.kind, mail.input = 'delegate', task.prompt
end
giveRights(mail, task)
deliver(task.threadId, mail)
return answer('ok', { threadId = task.threadId, owner = liveOwner(task.threadId) })
