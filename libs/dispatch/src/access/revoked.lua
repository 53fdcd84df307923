-- Revoked keys, by the time of revocation: mail that a key sent before that time has no rights. A new key with the same
-- id does not restore them.

-- Whether the rights that a key granted at `rights.grantedAt` (absent: long ago) have ended. `rights.untilMs`: their expiry.
local function isRevoked(tenant, keyId, rights)
  if rights.untilMs and now >= tonumber(rights.untilMs) then return true end
  local revokedAt = keyId and redis.call('ZSCORE', P .. 'revoked', tenant .. '/' .. keyId)
  return revokedAt and tonumber(revokedAt) >= (tonumber(rights.grantedAt) or 0) or false
end
