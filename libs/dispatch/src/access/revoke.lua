-- Notes which keys exist, and which were revoked: the rights of mail that these have sent end.
-- A: known [tenant/keyId], revoked [tenant/keyId], isFirst (no other gateway runs: keys that are noted and not known
--    were revoked while none ran)
-- outcome: ok {revoked (how many)}
local gone = {}
for _, id in ipairs(A.revoked) do gone[id] = true end
if A.isFirst then
  local known = {}
  for _, id in ipairs(A.known) do known[id] = true end
  for _, id in ipairs(redis.call('SMEMBERS', P .. 'keyring')) do
    if not known[id] then gone[id] = true end
  end
end
local count = 0
for id in pairs(gone) do
  redis.call('SREM', P .. 'keyring', id)
  redis.call('ZADD', P .. 'revoked', now, id)
  count = count + 1
end
for _, id in ipairs(A.known) do
  redis.call('SADD', P .. 'keyring', id)
  redis.call('ZREM', P .. 'revoked', id)
end
-- Mail is answered, or expires with its thread, within the retention time.
redis.call('ZREMRANGEBYSCORE', P .. 'revoked', '-inf', now - 4 * C.retentionMs)
return answer('ok', { revoked = count })
