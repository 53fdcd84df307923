-- What a tenant, and a key with limits of its own, holds: in sorted sets, by when it was taken.
-- A.quota {tenant {limit = n}, key? {limit = n}, keyId?}; absent = no limits.

-- The set of what is held; without a keyId, that of the tenant.
local function heldKey(limit, tenant, keyId)
  if keyId then return key('held', limit .. ':' .. tenant .. '/' .. keyId) end
  if limit == 'threads' then return key('ths', tenant) end
  return key('held', limit .. ':' .. tenant)
end

-- Whether an entry is still held. A torn log may leave others in a set.
local function isHeld(limit, id)
  if limit == 'threads' then return redis.call('HEXISTS', key('th', id), 'tenant') == 1 end
  if limit == 'openTasks' then return redis.call('HGET', key('task', id), 'status') == 'working' end
  if limit == 'waitingMessages' then
    local run = redis.call('HMGET', key('run', id), 'input', 'final')
    return run[1] and not run[2]
  end
  return redis.call('EXISTS', key('mcp', string.match(id, '^%S+'))) == 1
end

local function countHeld(name, limit, allowed)
  local count = redis.call('ZCARD', name)
  if count < allowed then return count end
  for _, id in ipairs(redis.call('ZRANGE', name, 0, 49)) do
    if not isHeld(limit, id) then redis.call('ZREM', name, id) end
  end
  return redis.call('ZCARD', name)
end

local function dayKey() return key('day', tostring(math.floor(now / 86400000))) end

-- The quota that does not allow one more: {limit, of, allowed}; nil if there is none.
local function quotaReached(limit, tenant)
  local quota = A.quota
  if not quota then return nil end
  for _, of in ipairs({ 'tenant', 'key' }) do
    local allowed = quota[of] and quota[of][limit]
    local keyId = of == 'key' and quota.keyId or nil
    if allowed then
      local count
      if limit == 'runsPerDay' then
        count = number(dayKey(), keyId and tenant .. '/' .. keyId or tenant)
      else
        count = countHeld(heldKey(limit, tenant, keyId), limit, allowed)
      end
      if count >= allowed then return { limit = limit, of = of, allowed = allowed } end
    end
  end
  return nil
end

-- Whether the key has a limit: only then its part is counted.
local function ofKey(limit) return A.quota and A.quota.key and A.quota.key[limit] and A.quota.keyId or nil end

-- Counts one more. Returns the key to which it counts; dropHeld needs it.
local function hold(limit, tenant, id)
  if limit ~= 'threads' then redis.call('ZADD', heldKey(limit, tenant), now, id) end
  local keyId = ofKey(limit)
  if keyId then redis.call('ZADD', heldKey(limit, tenant, keyId), now, id) end
  return keyId
end

local function dropHeld(limit, tenant, id, keyId)
  if limit ~= 'threads' then redis.call('ZREM', heldKey(limit, tenant), id) end
  if keyId then redis.call('ZREM', heldKey(limit, tenant, keyId), id) end
end

-- Counts one accepted message or task.
local function countRun(tenant)
  local day = dayKey()
  local isFirst = redis.call('HINCRBY', day, tenant, 1) == 1
  if ofKey('runsPerDay') then redis.call('HINCRBY', day, tenant .. '/' .. ofKey('runsPerDay'), 1) end
  if isFirst then redis.call('PEXPIRE', day, 172800000, 'NX') end
end
