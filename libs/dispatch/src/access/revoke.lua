-- Records which keys exist, and ends the rights of the mail that revoked keys have sent.
-- A: known {tenant/keyId = fingerprint of its secret and rights}, revoked [tenant/keyId], isFirst (no other gateway runs:
--    keys that are noted and not known, or known with another fingerprint, were revoked while none ran)
-- outcome: ok {revoked (how many)}
local keyring = P .. 'keyring'
local gone = {}
for _, id in ipairs(A.revoked) do gone[id] = true end
if A.isFirst then
  for id, fingerprint in pairs(hash(keyring)) do
    if A.known[id] ~= fingerprint then gone[id] = true end
  end
end
local count = 0
for id in pairs(gone) do
  redis.call('HDEL', keyring, id)
  redis.call('ZADD', P .. 'revoked', now, id)
  count = count + 1
end
if next(A.known) then setFields(keyring, A.known) end
-- Mail is answered, or expires with its thread, within the retention time.
redis.call('ZREMRANGEBYSCORE', P .. 'revoked', '-inf', now - 4 * C.retentionMs)
return answer('ok', { revoked = count })
