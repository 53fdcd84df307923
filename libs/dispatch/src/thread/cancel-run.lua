-- Cancels a run, unless it has ended.
-- A: tenant, threadId, runId
-- outcome: ok {threadId, owner?} | ended | not_found
A.threadId = resolve(A.tenant, A.threadId)
local run = hash(key('run', A.runId))
if run.threadId ~= A.threadId or run.tenant ~= A.tenant then return answer('not_found') end
if run.final then return answer('ended') end
cancelRun(A.threadId, A.runId)
return answer('ok', { threadId = A.threadId, owner = liveOwner(A.threadId) })
