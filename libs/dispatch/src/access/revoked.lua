-- Keys whose rights have ended, by when: mail that they sent before has none. A key that is made anew under the same id
-- gives nothing back to older mail.

-- Whether the rights that a key gave at `grantedAt` (absent: long ago) have ended. `untilMs`: when they end by themselves.
local function isRevoked(tenant, keyId, rights)
  if rights.untilMs and now >= tonumber(rights.untilMs) then return true end
  local revokedAt = keyId and redis.call('ZSCORE', P .. 'revoked', tenant .. '/' .. keyId)
  return revokedAt and tonumber(revokedAt) >= (tonumber(rights.grantedAt) or 0) or false
end
