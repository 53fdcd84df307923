-- Indexes of a tenant's threads by state, agent and skill, for lists of any length. Each is a sorted set
-- thx:<tenant>:<field>:<value> with the scores of ths:<tenant>: when the thread was used last. The thread's field `indexed`
-- names the indexes that it is in.
-- Repair: a torn script may leave a thread in an index that no longer fits; readers check each thread, and its next use
-- corrects the index.

local stateOfOutcome = { error = 'error', timeout = 'error', interrupted = 'interrupted', cancelled = 'interrupted' }

local function indexOf(tenant, name) return key('thx', tenant .. ':' .. name) end

-- Calls `handle` with each name in the field `indexed`.
local function eachIndex(indexed, handle)
  for name in string.gmatch(indexed or '', '[^\n]+') do handle(name) end
end

-- Puts a thread into the indexes of its state, agent and skill, as used at `at`, and takes it out of others.
local function indexThread(threadId, at)
  local th = key('th', threadId)
  local thread = redis.call('HMGET', th, 'tenant', 'last', 'done', 'outcome', 'agent', 'skill', 'indexed')
  local tenant, before = thread[1], thread[7]
  local busy = (tonumber(thread[2]) or 0) > (tonumber(thread[3]) or 0)
  local wanted = 'state:' .. (busy and 'busy' or stateOfOutcome[thread[4]] or 'idle')
  if thread[5] then wanted = wanted .. '\nagent:' .. thread[5] end
  if thread[6] then wanted = wanted .. '\nskill:' .. thread[6] end
  if before ~= wanted then
    eachIndex(before, function(name) redis.call('ZREM', indexOf(tenant, name), threadId) end)
    redis.call('HSET', th, 'indexed', wanted)
  end
  eachIndex(wanted, function(name) redis.call('ZADD', indexOf(tenant, name), at, threadId) end)
end

-- Notes that a thread is used now: lists show it first.
local function touchThread(threadId, tenant)
  redis.call('ZADD', key('ths', tenant), now, threadId)
  indexThread(threadId, now)
end

-- Takes a thread out of every list.
local function unlistThread(threadId, tenant)
  redis.call('ZREM', key('ths', tenant), threadId)
  eachIndex(redis.call('HGET', key('th', threadId), 'indexed'), function(name)
    redis.call('ZREM', indexOf(tenant, name), threadId)
  end)
end
