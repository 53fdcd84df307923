-- Makes this gateway the owner of an upstream, unless a live gateway owns it; renews its ownership; or gives it up.
-- A: upstream, replica, ttlMs, release? (true: gives it up)
-- outcome: ok, with owner? (the gateway that owns it now)
-- Nothing to repair after a torn append-only file: an owner renews its key, and a lost key makes the upstream free.
local owned = key('upstream', A.upstream)
local owner = redis.call('GET', owned)
if A.release then
  if owner == A.replica then redis.call('DEL', owned) end
  return answer('ok', {})
end
if not owner or owner == A.replica or redis.call('EXISTS', key('gw', owner)) == 0 then
  redis.call('SET', owned, A.replica, 'PX', A.ttlMs)
  owner = A.replica
end
return answer('ok', { owner = owner })
