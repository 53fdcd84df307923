-- Deletes an API key of a tenant, ends the rights of the mail that it has sent, and notifies every gateway.
-- A: tenant, id
-- outcome: ok | unknown
-- Repair: a repeat after a torn log notifies again; the tenant stays in the list of tenants while it has keys.
local own = key('apikeys', A.tenant)
local deleted = redis.call('HDEL', own, A.id)
if deleted == 1 then redis.call('ZADD', P .. 'revoked', now, A.tenant .. '/' .. A.id) end
if redis.call('EXISTS', own) == 0 then redis.call('SREM', P .. 'apikeys', A.tenant) end
notifyGateways(nil, cjson.encode({ kind = 'keys_changed', tenant = A.tenant }))
return answer(deleted == 1 and 'ok' or 'unknown')
