-- Whether session tokens are still valid for their threads: owner and epoch match, the owner is alive, a run
-- is in progress.
-- A: tokens [{threadId, epoch, owner?}] (`owner` is absent in tokens of earlier releases)
-- outcome: ok {each}, in the order of the tokens, as JSON texts: {outcome: ok, runId, attempt, scopes?, tools? (JSON texts:
--          what the run was narrowed to), trace? (the span of the turn)} | {idle} (no run in progress) | {stale} | {gone}
local function authorityOf(token)
  local thread = redis.call('HMGET', key('th', token.threadId), 'tenant', 'owner', 'epoch', 'run', 'attempt', 'nonce')
  local tenant, owner, epoch, run, attempt = unpack(thread)
  if not tenant then return answer('gone') end
  local isOwner = not token.owner or owner == token.owner
  if not isOwner or tonumber(epoch) ~= token.epoch or not livingId(owner) then return answer('stale') end
  if not run then return answer('idle') end
  local rights = redis.call('HMGET', key('run', run), 'tools', 'scopes', 'keyId', 'rightsUntil', 'grantedAt', 'trace')
  if isRevoked(tenant, rights[3], { untilMs = rights[4], grantedAt = rights[5] }) then rights[1], rights[2] = '[]', '[]' end
  return answer('ok', { runId = run, attempt = tonumber(attempt) or 1, tools = rights[1] or nil, scopes = rights[2] or nil,
    trace = spanOf(rights[6], thread[6] or run) })
end
local each = {}
for i, token in ipairs(A.tokens) do each[i] = authorityOf(token) end
return answer('ok', { each = each })
