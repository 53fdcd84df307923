-- From now to its end the thread of a run has of its tools only these.
-- A: runId, tools [names]
-- outcome: ok | over (another run, or none, is under way)
local threadId = redis.call('HGET', key('run', A.runId), 'threadId') or ''
local thread = hash(key('th', threadId))
if thread.run ~= A.runId then return answer('over') end
local narrowed = commonTools(toolsInRun(thread, A.runId), A.tools)
redis.call('HSET', key('run', A.runId), 'tools', encodeList(narrowed), 'narrowed', '1')
tellToolsChanged(threadId)
return answer('ok')
