-- Makes a thread.
-- A: threadId, fields {tenant, …strings}, callerTools? [name]: it has no others
-- outcome: created | exists {tenant}
local th = key('th', A.threadId)
if redis.call('EXISTS', th) == 1 then return answer('exists', { tenant = redis.call('HGET', th, 'tenant') }) end
A.fields.root = A.threadId
A.fields.allowedTools = encodeList(commonTools(decoded(A.fields.allowedTools), A.callerTools))
makeThread(A.threadId, A.fields)
return answer('created')
