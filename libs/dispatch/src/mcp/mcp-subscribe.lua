-- Subscribes an MCP session to a resource.
-- A: sessionId, tenant, keyId, uri, ttlMs, quota?
-- outcome: subscribed | quota {limit, of, allowed}
local set = key('mcp', A.sessionId .. ':sub')
if redis.call('SISMEMBER', set, A.uri) == 0 then
  local reached = quotaReached('subscriptions', A.tenant)
  if reached then return answer('quota', reached) end
  hold('subscriptions', A.tenant, A.sessionId .. ' ' .. A.uri)
end
redis.call('SADD', set, A.uri)
redis.call('PEXPIRE', set, A.ttlMs)
return answer('subscribed')
