-- A new process replaces a thread's session on the same worker: the old session's token must stop working.
-- A: threadId, me, epoch
-- outcome: ok {epoch} | fenced
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
redis.call('HSET', th, 'emitted', 0)
return answer('ok', { epoch = nextEpoch(A.threadId) })
