-- Threads: their ids and names, how they are made, kept and forgotten.

-- A caller may name a thread itself. The thread's own id is then made from tenant and name, so that a name needs no table
-- and no tenant can take another's; `alias` keeps the name. Same in thread-id.ts.
local function idOfNamed(tenant, name) return 'thr_' .. string.sub(redis.sha1hex(tenant .. '\n' .. name), 1, 32) end

-- The id of the thread that a caller of this tenant means: a thread of the tenant's that has this id, or this name.
local function resolve(tenant, id)
  if redis.call('HGET', key('th', id), 'tenant') == tenant then return id end
  return idOfNamed(tenant, id)
end

-- The id by which callers know the thread.
local function shownId(threadId) return redis.call('HGET', key('th', threadId), 'alias') or threadId end
local threadKeys = { 'th', 'mb', 'ev', 'evs', 'runs', 'led', 'kids', 'open', 'sess' }

-- The lists and sets of a thread's transcripts.
local function transcriptKeys(threadId)
  local found = {}
  for _, name in ipairs(redis.call('SMEMBERS', key('sess', threadId))) do
    local list = key('sess', threadId .. ':' .. name)
    found[#found + 1] = list
    found[#found + 1] = list .. ':uuids'
  end
  return found
end

-- A thread is kept while it has work, and for the time of retention after it: then the sweep forgets it. Its keys have no end
-- of their own (`kept`); those of earlier releases had, and lose it when they get work.
local function keepThread(threadId)
  for _, kind in ipairs(threadKeys) do redis.call('PERSIST', key(kind, threadId)) end
  for _, name in ipairs(transcriptKeys(threadId)) do redis.call('PERSIST', name) end
  redis.call('HSET', key('th', threadId), 'kept', '1')
end

-- Removes what is stored of a thread, but for its runs. The hash goes last, so that a torn log leaves what can be repeated.
local function forgetThread(threadId)
  local thread = redis.call('HMGET', key('th', threadId), 'tenant', 'parentThreadId', 'root')
  redis.call('ZREM', P .. 'pend', threadId)
  if thread[1] then redis.call('ZREM', key('ths', thread[1]), threadId) end
  if thread[2] then redis.call('SREM', key('kids', thread[2]), threadId) end
  if thread[3] then redis.call('ZREM', key('evs', thread[3]), threadId) end
  redis.call('PUBLISH', key('ch', threadId), '')
  if thread[3] == threadId then
    redis.call('DEL', key('tree', threadId)) -- of earlier releases
    redis.call('PUBLISH', key('chtree', threadId), '')
  end
  for _, name in ipairs(transcriptKeys(threadId)) do redis.call('DEL', name) end
  for i = #threadKeys, 1, -1 do redis.call('DEL', key(threadKeys[i], threadId)) end
end

-- Makes a thread. `fields` is an object of strings with `tenant` and `root`.
local function makeThread(threadId, fields)
  fields.createdAt = stamp
  fields.updatedAt = stamp
  fields.kept = '1'
  fields.epoch = stamp -- never an epoch that an earlier thread of this id had
  setFields(key('th', threadId), fields)
  heads[threadId] = nil
  redis.call('ZADD', key('ths', fields.tenant), now, threadId)
  redis.call('ZADD', P .. 'trim', 'NX', now + C.retentionMs, fields.tenant)
  addEvent(threadId, 'thread.created', cjson.encode({ parentThreadId = fields.parentAlias or fields.parentThreadId }))
end
