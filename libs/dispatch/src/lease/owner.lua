-- Who owns a thread, and at which epoch (D4).

-- The id of a worker (workerId#incarnation) while it is alive, or nil.
local function livingId(owner)
  local workerId = owner and string.match(owner, '^(.-)#')
  return workerId and redis.call('GET', key('w', workerId)) == owner and workerId or nil
end

-- The id of the worker that owns the thread and is alive, or nil.
local function liveOwner(threadId) return livingId(redis.call('HGET', key('th', threadId), 'owner')) end

-- Tells the worker that owns a thread to look into its mailbox. False: nobody heard it, and a doorbell must ring.
local function ringOwner(threadId, owner)
  return owner ~= nil and redis.call('PUBLISH', key('ring', owner), threadId) > 0
end

-- D4: only the owner at its epoch has effects.
local function isHolder(owner, epoch) return owner == A.me and tonumber(epoch) == A.epoch end

local function fenced(threadId)
  local held = redis.call('HMGET', key('th', threadId), 'owner', 'epoch')
  return isHolder(held[1], held[2])
end

-- Raises a thread's epoch. A fail-over of Redis may take epochs back that were given out; the clock does not go back.
local function nextEpoch(threadId)
  local epoch = math.max(number(key('th', threadId), 'epoch') + 1, now)
  redis.call('HSET', key('th', threadId), 'epoch', string.format('%.0f', epoch))
  return epoch
end
