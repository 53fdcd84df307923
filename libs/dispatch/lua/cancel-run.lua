-- A: tenant, threadId, runId
-- outcome: ok {owner?} | ended | not_found
local run = hash(key('run', A.runId))
if run.threadId ~= A.threadId or run.tenant ~= A.tenant then return answer('not_found') end
if run.final then return answer('ended') end
cancelRun(A.threadId, A.runId)
return answer('ok', { owner = liveOwner(A.threadId) })
