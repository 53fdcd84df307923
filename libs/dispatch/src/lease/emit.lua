-- Step 5: writes a turn's events, fenced. Each call has the next number of its epoch (`counter`); a repeat
-- writes nothing.
-- A: threadId, me, epoch, counter, runId, path?,
--    events [{type, data (JSON text), live? (not stored), delivered? (tool-use id), task? {taskId, fields}}]
-- outcome: ok {cancel, interrupt} | fenced
local th = key('th', A.threadId)
local held = redis.call('HMGET', th, 'owner', 'epoch', 'emitted', 'interruptBefore', 'root', 'alias', 'tail')
if not isHolder(held[1], held[2]) then return answer('fenced') end
noteHead(A.threadId, held[5], held[6], held[7])
local run = redis.call('HMGET', key('run', A.runId), 'cancel', 'seq', 'kind')
if A.counter > (tonumber(held[3]) or 0) then
  for _, event in ipairs(A.events) do
    if event.live then
      local head = headOf(A.threadId)
      local message = cjson.encode({ type = event.type, at = stamp, threadId = head.shown, data = event.data })
      redis.call('PUBLISH', key('ch', A.threadId), message)
      if head.root ~= A.threadId then redis.call('PUBLISH', key('chtree', head.root), message) end
    elseif event.task then
      addTaskEvent(hash(key('task', event.task.taskId)), event.type, event.task.fields)
    else
      addEvent(A.threadId, event.type, event.data)
    end
    if event.delivered then redis.call('HSET', key('led', A.threadId), event.delivered, 'delivered') end
  end
  if A.path and run[2] then redis.call('HSET', key('run', A.runId), 'path', A.path) end
  setFields(th, { emitted = A.counter, path = A.path })
end
return answer('ok', { cancel = run[1] == '1', interrupt = overtaken(A.threadId, tonumber(run[2]) or 0, run[3], held[4]) })
