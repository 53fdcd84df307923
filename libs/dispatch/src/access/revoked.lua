-- Keys that were revoked, and what remains of the rights of mail that they sent: nothing.

-- Whether a key's rights have ended. `untilMs`: when they end by themselves.
local function isRevoked(tenant, keyId, untilMs)
  if untilMs and now >= tonumber(untilMs) then return true end
  return keyId and redis.call('ZSCORE', P .. 'revoked', tenant .. '/' .. keyId) and true or false
end
