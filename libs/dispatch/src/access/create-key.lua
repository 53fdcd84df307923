-- Stores an API key of a tenant and notifies every gateway. Keys of the tenant that have ended are deleted first.
-- A: tenant, id, text (JSON object with keySha256 and, if the key ends, goodUntilMs)
-- outcome: ok | exists (another key has the id) | full (the tenant has C.maxKeys)
-- Repair: a repeat whose first try was stored finds its own key and notifies again.
local own = key('apikeys', A.tenant)
for id, text in pairs(hash(own)) do
  local ends = cjson.decode(text).goodUntilMs
  if ends and ends <= now then redis.call('HDEL', own, id) end
end
local known = redis.call('HGET', own, A.id)
if known and cjson.decode(known).keySha256 ~= cjson.decode(A.text).keySha256 then return answer('exists') end
if not known and redis.call('HLEN', own) >= C.maxKeys then return answer('full') end
redis.call('HSET', own, A.id, A.text)
redis.call('SADD', P .. 'apikeys', A.tenant)
notifyGateways(nil, cjson.encode({ kind = 'keys_changed', tenant = A.tenant }))
return answer('ok')
