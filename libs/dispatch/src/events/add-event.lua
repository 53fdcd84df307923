-- Events of threads and tasks, and the common order of a tree's events.

-- What events need of a thread, read once per script. `tail`: for a root with threads below it, the id of the
-- tree's latest event.
local heads = {}

-- Scripts that read a thread anyway read these fields with it: a command less.
local function noteHead(threadId, root, alias, tail)
  heads[threadId] = { root = root, shown = alias or threadId, tail = tail }
  return heads[threadId]
end

local function headOf(threadId)
  if heads[threadId] then return heads[threadId] end
  local found = redis.call('HMGET', key('th', threadId), 'root', 'alias', 'tail')
  return noteHead(threadId, found[1], found[2], found[3])
end

-- The id of a thread's next event. A tree's events have one common order: once a thread has threads below it,
-- its root issues the ids of all of them, and records when each thread had its latest event.
local function nextEventId(root, threadId)
  local head = headOf(root)
  if not head.tail then
    if root == threadId or not head.root then return '*' end
    local latest = redis.call('XREVRANGE', key('ev', root), '+', '-', 'COUNT', 1)[1]
    head.tail = latest and latest[1] or '0-0'
    redis.call('ZADD', key('evs', root), now, root)
  end
  local ms, n = string.match(head.tail, '^(%d+)%-(%d+)$')
  head.tail = tonumber(ms) >= now and string.format('%s-%d', ms, n + 1) or stamp .. '-0'
  redis.call('HSET', key('th', root), 'tail', head.tail)
  redis.call('ZADD', key('evs', root), string.match(head.tail, '^%d+'), threadId)
  return head.tail
end

-- Stores an event in the thread's log and notifies subscribers of the thread and of its tree. `data`: a JSON
-- object as text. `isCopy`: the same event is stored on another thread of the tree, whose entry is the one
-- that the tree shows.
local function addEvent(threadId, type, data, isCopy)
  local head = headOf(threadId)
  local root = head.root
  if not root then return nil end
  local entry = { key('ev', threadId), 'MAXLEN', '~', C.eventCap, nextEventId(root, threadId), 'type', type, 'at', stamp, 'threadId',
    head.shown, 'data', data, isCopy and 'copy' or nil, isCopy and '1' or nil }
  local id = redis.pcall('XADD', unpack(entry))
  if id.err then
    -- A torn log has lost the latest id: let Redis choose one.
    entry[5] = '*'
    id = redis.call('XADD', unpack(entry))
  end
  redis.call('PUBLISH', key('ch', threadId), '')
  if root ~= threadId then redis.call('PUBLISH', key('chtree', root), '') end
  return id
end

-- Stores a task's event on its parent's thread, if any, and on its own; the tree shows it once. MCP clients that
-- have subscribed to the task are notified.
local function addTaskEvent(task, type, fields)
  fields.taskId = task.taskId
  fields.taskThreadId = task.threadId
  local data = cjson.encode(fields)
  local onParent = task.parentThreadId and addEvent(task.parentThreadId, type, data)
  addEvent(task.threadId, type, data, onParent and true)
  if redis.call('EXISTS', key('twatch', task.taskId)) == 1 then
    notifyGateways(nil, cjson.encode({ kind = 'resource_updated', uri = 'harness://tasks/' .. task.taskId }))
  end
end
