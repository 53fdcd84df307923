-- An unowned thread wants a turn.
-- A: threadId
-- outcome: ok | gone
local tenant = redis.call('HGET', key('th', A.threadId), 'tenant')
if not tenant then return answer('gone') end
want(A.threadId, tenant)
return answer('ok')
