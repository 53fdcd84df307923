-- Creates an MCP session of the 2025 protocols.
-- A: sessionId, tenant, keyId, ttlMs, idleMs, fields {…strings}, quota? (absent: the session counts to no quota)
-- outcome: created | quota {limit, of, allowed}
-- Most clients never end their sessions: where a quota is reached, those unused for idleMs are ended.
local function forget(sessionId)
  redis.call('DEL', key('mcp', sessionId), key('mcp', sessionId .. ':sub'))
  dropHeld('mcpSessions', A.tenant, sessionId, A.keyId)
end
if A.quota then
  local held = heldKey('mcpSessions', A.tenant, A.keyId)
  for _, set in ipairs({ held, heldKey('mcpSessions', A.tenant) }) do
    redis.call('ZREMRANGEBYSCORE', set, '-inf', now - A.ttlMs)
  end
  local reached = quotaReached('mcpSessions', A.tenant)
  if reached then
    for _, sessionId in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now - A.idleMs, 'LIMIT', 0, 10)) do forget(sessionId) end
    reached = quotaReached('mcpSessions', A.tenant)
  end
  if reached then return answer('quota', reached) end
  hold('mcpSessions', A.tenant, A.sessionId)
end
A.fields.openedAt = stamp
setFields(key('mcp', A.sessionId), A.fields)
redis.call('PEXPIRE', key('mcp', A.sessionId), A.ttlMs)
return answer('created')
