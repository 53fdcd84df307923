-- The ledger of calls to tools that must not run twice, by thread and tool-use id, kept until the run ends.
-- Fenced by the epoch alone.
-- A: threadId, epoch, toolUseId, result? (JSON text: the call has ended)
-- outcome: run (first time: make the call) | done {result} | uncertain (the call began, its outcome is
--    unknown) | ok | stale
local th = key('th', A.threadId)
if number(th, 'epoch') ~= A.epoch then return answer('stale') end
local led = key('led', A.threadId)
local field = 'call:' .. A.toolUseId
if A.result then
  redis.call('HSET', led, field, A.result)
  return answer('ok')
end
local known = redis.call('HGET', led, field)
if not known then
  redis.call('HSET', led, field, '')
  return answer('run')
end
if known == '' then return answer('uncertain') end
return answer('done', { result = known })
