-- Deletes a thread, its runs, its events, and every thread below it. Open tasks below it are cancelled, and
-- so is the task that the thread works on; that task's parent thread is notified by mail.
-- A: threadId, tenant, mail? {id, threadId, runId, kind, input}
-- outcome: deleted {threadIds, rung?} | not_found
-- Repair: the thread's hash is deleted last, so a repeat after a torn delete finds the rest.
A.threadId = resolve(A.tenant, A.threadId)
if redis.call('HGET', key('th', A.threadId), 'tenant') ~= A.tenant then return answer('not_found') end

local gone = {}
local function delete(threadId)
  for _, kid in ipairs(redis.call('SMEMBERS', key('kids', threadId))) do delete(kid) end
  for _, taskId in ipairs(redis.call('SMEMBERS', key('open', threadId))) do cancelTask(taskId) end
  local th = hash(key('th', threadId))
  if th.taskId then cancelTask(th.taskId) end
  if th.owner then
    local workerId = string.match(th.owner, '^(.-)#')
    redis.call('PUBLISH', key('ctl', workerId), cjson.encode({ action = 'drop', threadId = threadId }))
    redis.call('SREM', key('own', workerId), threadId)
  end
  for _, runId in ipairs(redis.call('ZRANGE', key('runs', threadId), 0, -1)) do redis.call('DEL', key('run', runId)) end
  forgetThread(threadId)
  gone[#gone + 1] = threadId
end
local task = hash(key('task', redis.call('HGET', key('th', A.threadId), 'taskId') or ''))
local isTold = A.mail and task.status == 'working'
delete(A.threadId)
local rung
if isTold then
  A.mail.threadId = task.parentThreadId
  A.mail.chain = task.chain
  giveRights(A.mail, task)
  local owner = deliverOnce(A.mail)
  if owner then rung = { threadId = A.mail.threadId, owner = owner ~= '' and owner or nil } end
end
return answer('deleted', { threadIds = gone, rung = rung })
