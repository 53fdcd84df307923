-- Fair queueing: turns are shared among tenants, and within a tenant among its unowned threads.
--
-- want:<tenant> holds the tenant's threads by when they were rung. `wants` holds the tenants by virtual time, which each
-- chosen thread advances by one. A tenant without waiting threads joins at the current virtual time (`wantclock`), so
-- that it neither starves nor overtakes the others for ever.

local function want(threadId, tenant)
  redis.call('ZADD', key('want', tenant), 'NX', now, threadId)
  redis.call('ZADD', P .. 'wants', 'NX', redis.call('GET', P .. 'wantclock') or 0, tenant)
end

local function unwant(threadId, tenant)
  if redis.call('ZREM', key('want', tenant), threadId) == 1 and redis.call('EXISTS', key('want', tenant)) == 0 then
    redis.call('ZREM', P .. 'wants', tenant)
  end
end
