-- Turns are shared among tenants: which unowned threads want one, by tenant, and whose turn it is.
--
-- want:<tenant> holds the tenant's threads by when they were rung; `wants` the tenants by how many threads they were
-- given, on a clock that all share: a tenant that comes later begins at the clock's present time, so that it neither
-- waits for those before it nor overtakes them for ever.

local function want(threadId, tenant)
  redis.call('ZADD', key('want', tenant), 'NX', now, threadId)
  redis.call('ZADD', P .. 'wants', 'NX', redis.call('GET', P .. 'wantclock') or 0, tenant)
end

local function unwant(threadId, tenant)
  if redis.call('ZREM', key('want', tenant), threadId) == 1 and redis.call('EXISTS', key('want', tenant)) == 0 then
    redis.call('ZREM', P .. 'wants', tenant)
  end
end
