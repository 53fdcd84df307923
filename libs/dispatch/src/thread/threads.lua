-- Threads: ids and names, creation, retention and deletion.

-- A caller may name a thread. Its own id is then made from tenant and name: a name needs no table, and a
-- tenant cannot take another's. `alias` keeps the name. thread-id.ts has the same function.
local function idOfNamed(tenant, name) return 'thr_' .. string.sub(redis.sha1hex(tenant .. '\n' .. name), 1, 32) end

-- The own id of the thread that a caller of this tenant means by an own id or a name.
local function resolve(tenant, id)
  if redis.call('HGET', key('th', id), 'tenant') == tenant then return id end
  return idOfNamed(tenant, id)
end

-- The id by which callers know the thread.
local function shownId(threadId) return redis.call('HGET', key('th', threadId), 'alias') or threadId end
local threadKeys = { 'th', 'mb', 'ev', 'evs', 'runs', 'led', 'kids', 'open', 'sess' }

-- Keys of the lists and sets of a thread's transcripts.
local function transcriptKeys(threadId)
  local found = {}
  for _, name in ipairs(redis.call('SMEMBERS', key('sess', threadId))) do
    local list = key('sess', threadId .. ':' .. name)
    found[#found + 1] = list
    found[#found + 1] = list .. ':uuids'
  end
  return found
end

-- A thread is kept while it has work, and for the retention time after that; then the sweep deletes it. Its
-- keys have no TTL (`kept`); keys of earlier releases had one, which is removed when the thread gets work.
local function keepThread(threadId)
  for _, kind in ipairs(threadKeys) do redis.call('PERSIST', key(kind, threadId)) end
  for _, name in ipairs(transcriptKeys(threadId)) do redis.call('PERSIST', name) end
  redis.call('HSET', key('th', threadId), 'kept', '1')
end

-- Deletes everything stored of a thread, except its runs. The hash goes last, so that a torn deletion can be
-- repeated.
local function forgetThread(threadId)
  local thread = redis.call('HMGET', key('th', threadId), 'tenant', 'parentThreadId', 'root', 'heldBy')
  redis.call('ZREM', P .. 'pend', threadId)
  if thread[1] then
    unlistThread(threadId, thread[1])
    unwant(threadId, thread[1])
    if thread[4] then dropHeld('threads', thread[1], threadId, thread[4]) end
    for _, entry in ipairs(redis.call('XRANGE', key('mb', threadId), '-', '+')) do
      dropHeld('waitingMessages', thread[1], entry[2][2])
    end
  end
  if thread[2] then redis.call('SREM', key('kids', thread[2]), threadId) end
  if thread[3] then redis.call('ZREM', key('evs', thread[3]), threadId) end
  redis.call('PUBLISH', key('ch', threadId), '')
  if thread[3] == threadId then
    redis.call('DEL', key('tree', threadId)) -- written by earlier releases
    redis.call('PUBLISH', key('chtree', threadId), '')
  end
  for _, name in ipairs(transcriptKeys(threadId)) do redis.call('DEL', name) end
  for i = #threadKeys, 1, -1 do redis.call('DEL', key(threadKeys[i], threadId)) end
end

-- Creates a thread. `fields`: an object of strings, with `tenant` and `root`.
local function makeThread(threadId, fields)
  fields.createdAt = stamp
  fields.updatedAt = stamp
  fields.kept = '1'
  fields.epoch = stamp -- higher than any epoch of a deleted thread with this id
  setFields(key('th', threadId), fields)
  heads[threadId] = nil
  touchThread(threadId, fields.tenant)
  redis.call('ZADD', P .. 'trim', 'NX', now + C.retentionMs, fields.tenant)
  addEvent(threadId, 'thread.created', cjson.encode({ parentThreadId = fields.parentAlias or fields.parentThreadId }))
end
