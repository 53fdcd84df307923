-- Step 5: writes a turn's events, fenced. Each call has the next number of its epoch; a repeat writes nothing.
-- A: threadId, me, epoch, counter, runId, path?,
--    events [{type, data (JSON text), live? (not stored), delivered? (tool-use id), task? {taskId, fields}}]
-- outcome: ok {cancel, interrupt} | fenced
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
if A.counter > number(th, 'emitted') then
  local root, shown = redis.call('HGET', th, 'root'), shownId(A.threadId)
  for _, event in ipairs(A.events) do
    if event.live then
      local message = cjson.encode({ type = event.type, at = stamp, threadId = shown, data = event.data })
      redis.call('PUBLISH', key('ch', A.threadId), message)
      redis.call('PUBLISH', key('chtree', root), message)
    elseif event.task then
      addTaskEvent(hash(key('task', event.task.taskId)), event.type, event.task.fields)
    else
      addEvent(A.threadId, event.type, event.data)
    end
    if event.delivered then redis.call('HSET', key('led', A.threadId), event.delivered, 'delivered') end
  end
  if A.path then
    redis.call('HSET', key('run', A.runId), 'path', A.path)
    redis.call('HSET', th, 'path', A.path)
  end
  redis.call('HSET', th, 'emitted', A.counter)
end
local run = redis.call('HMGET', key('run', A.runId), 'cancel', 'seq', 'kind')
return answer('ok', { cancel = run[1] == '1', interrupt = overtaken(A.threadId, tonumber(run[2]) or 0, run[3]) })
