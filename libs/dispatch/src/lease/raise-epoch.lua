-- A new process takes the place of a thread's session on the same worker: the old one's token must not work any more.
-- A: threadId, me, epoch
-- outcome: ok {epoch} | fenced
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
redis.call('HSET', th, 'emitted', 0)
return answer('ok', { epoch = nextEpoch(A.threadId) })
