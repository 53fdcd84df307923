-- Creates a thread.
-- A: threadId, named? (a caller chose the id), fields {tenant, …strings}, callerTools? [name] (an upper bound
--    of its tools)
-- outcome: created | exists
local threadId = A.threadId
if A.named then
  threadId = resolve(A.fields.tenant, A.threadId)
  if threadId ~= A.threadId then A.fields.alias = A.threadId end
end
if redis.call('HEXISTS', key('th', threadId), 'tenant') == 1 then return answer('exists') end
A.fields.root = threadId
A.fields.allowedTools = encodeList(commonTools(decoded(A.fields.allowedTools), A.callerTools))
makeThread(threadId, A.fields)
return answer('created')
