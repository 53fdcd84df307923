-- Requests the start of a thread's session; the caller rings its doorbell.
-- A: tenant, threadId
-- outcome: ok {threadId, owner?} | not_found
A.threadId = resolve(A.tenant, A.threadId)
local th = key('th', A.threadId)
if redis.call('HGET', th, 'tenant') ~= A.tenant then return answer('not_found') end
redis.call('HSET', th, 'prewarm', '1')
return answer('ok', { threadId = A.threadId, owner = liveOwner(A.threadId) })
