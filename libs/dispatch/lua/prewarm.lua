-- Asks for a thread's session to be started; the doorbell does the rest.
-- A: tenant, threadId
-- outcome: ok {owner?} | not_found
local th = key('th', A.threadId)
if redis.call('HGET', th, 'tenant') ~= A.tenant then return answer('not_found') end
redis.call('HSET', th, 'prewarm', '1')
return answer('ok', { owner = liveOwner(A.threadId) })
