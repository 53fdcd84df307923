-- From now to the end of its run a thread has of its tools only these.
-- A: threadId, runId, tools [names]
-- outcome: ok | over (another run, or none, is under way)
local thread = hash(key('th', A.threadId))
if thread.run ~= A.runId then return answer('over') end
local narrowed = commonTools(toolsInRun(thread, A.runId), A.tools)
redis.call('HSET', key('run', A.runId), 'tools', encodeList(narrowed), 'narrowed', '1')
-- Its session lists its tools again, through whichever gateway it is connected to.
redis.call('PUBLISH', P .. 'gateways', cjson.encode({ kind = 'list_changed', list = 'tools', keyId = A.threadId }))
return answer('ok')
