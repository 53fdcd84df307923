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

-- The state of a thread whose mailbox is done up to `done` and goes to `last`.
local function stateOf(last, done, outcome) return last > done and 'busy' or stateOfOutcome[outcome] or 'idle' end

-- The indexes in which a thread belongs, as the field `indexed` names them.
local function indexesOf(state, agent, skill)
  local names = 'state:' .. state
  if agent then names = names .. '\nagent:' .. agent end
  if skill then names = names .. '\nskill:' .. skill end
  return names
end

-- Moves a thread from the indexes `before` to `wanted`, as used at `at`; the caller sets the field.
local function moveIndexes(threadId, tenant, move)
  if move.before ~= move.wanted then
    eachIndex(move.before, function(name) redis.call('ZREM', indexOf(tenant, name), threadId) end)
  end
  eachIndex(move.wanted, function(name) redis.call('ZADD', indexOf(tenant, name), move.at, threadId) end)
end

-- Puts a thread into the indexes of its state, agent and skill, as used at `at`, and takes it out of others.
local function indexThread(threadId, at)
  local th = key('th', threadId)
  local thread = redis.call('HMGET', th, 'tenant', 'last', 'done', 'outcome', 'agent', 'skill', 'indexed')
  local state = stateOf(tonumber(thread[2]) or 0, tonumber(thread[3]) or 0, thread[4])
  local wanted = indexesOf(state, thread[5], thread[6])
  if thread[7] ~= wanted then redis.call('HSET', th, 'indexed', wanted) end
  moveIndexes(threadId, thread[1], { before = thread[7], wanted = wanted, at = at })
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
