-- Adds threads of earlier releases to the indexes, with the times of use that the tenant's list has.
-- A: tenant, threadIds
-- outcome: ok
for _, threadId in ipairs(A.threadIds) do
  local at = redis.call('ZSCORE', key('ths', A.tenant), threadId)
  if at and redis.call('HGET', key('th', threadId), 'tenant') == A.tenant then indexThread(threadId, at) end
end
return answer('ok')
