-- The owner of a thread and its epoch (D4).

-- The worker id of an owner (workerId#incarnation) if that worker is alive, or nil.
local function livingId(owner)
  local workerId = owner and string.match(owner, '^(.-)#')
  return workerId and redis.call('GET', key('w', workerId)) == owner and workerId or nil
end

-- The worker id of the thread's owner if it is alive, or nil.
local function liveOwner(threadId) return livingId(redis.call('HGET', key('th', threadId), 'owner')) end

-- Rings a thread on its owner's channel. False: the owner is not subscribed, and a doorbell must ring.
local function ringOwner(threadId, owner)
  return owner ~= nil and redis.call('PUBLISH', key('ring', owner), threadId) > 0
end

-- D4: the fence. Only the owner at its epoch may write.
local function isHolder(owner, epoch) return owner == A.me and tonumber(epoch) == A.epoch end

local function fenced(threadId)
  local held = redis.call('HMGET', key('th', threadId), 'owner', 'epoch')
  return isHolder(held[1], held[2])
end

-- Raises a thread's epoch. A fail-over of Redis may take back epochs that were already used, so a new one is
-- at least the clock, which does not go back.
local function nextEpoch(threadId)
  local epoch = math.max(number(key('th', threadId), 'epoch') + 1, now)
  redis.call('HSET', key('th', threadId), 'epoch', string.format('%.0f', epoch))
  return epoch
end
