-- The tools that a thread, its agent and its active skill all allow.
-- A: tenant, threadId
-- outcome: ok {tools? (JSON text; absent: all)} | not_found
local thread = hash(key('th', resolve(A.tenant, A.threadId)))
if thread.tenant ~= A.tenant then return answer('not_found') end
return answer('ok', { tools = encodeList(toolsOf(thread)) })
