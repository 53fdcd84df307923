-- Restricts the tools of a run's session until the run ends.
-- A: runId, tools [names]
-- outcome: ok | over (the thread has another run, or none, in progress)
local threadId = redis.call('HGET', key('run', A.runId), 'threadId') or ''
local thread = hash(key('th', threadId))
if thread.run ~= A.runId then return answer('over') end
local narrowed = commonTools(toolsInRun(thread, A.runId), A.tools)
redis.call('HSET', key('run', A.runId), 'tools', encodeList(narrowed), 'narrowed', '1')
notifyToolsChanged(threadId)
return answer('ok')
