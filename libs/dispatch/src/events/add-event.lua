-- Events of threads and tasks, and the order of those of a tree.

-- What events need of a thread, read once a script. `tail`: of a root with threads below it, the id of the latest event.
local heads = {}

local function headOf(threadId)
  local head = heads[threadId]
  if not head then
    local found = redis.call('HMGET', key('th', threadId), 'root', 'alias', 'tail')
    head = { root = found[1], shown = found[2] or threadId, tail = found[3] }
    heads[threadId] = head
  end
  return head
end

-- The id of a thread's next event. Those of a tree are read together, in one order: once a thread has threads below it, its
-- root gives the ids of them all, and knows when each had its latest.
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

-- Stores an event in the thread's log, and wakes those who watch it or its tree. `data` is a JSON object as text.
-- `isCopy`: the same is told on another thread of the tree, which shows it once.
local function addEvent(threadId, type, data, isCopy)
  local head = headOf(threadId)
  local root = head.root
  if not root then return nil end
  local entry = { key('ev', threadId), 'MAXLEN', '~', C.eventCap, nextEventId(root, threadId), 'type', type, 'at', stamp, 'threadId',
    head.shown, 'data', data, isCopy and 'copy' or nil, isCopy and '1' or nil }
  local id = redis.pcall('XADD', unpack(entry))
  if id.err then
    -- A torn log has lost the latest id.
    entry[5] = '*'
    id = redis.call('XADD', unpack(entry))
  end
  redis.call('PUBLISH', key('ch', threadId), '')
  if root ~= threadId then redis.call('PUBLISH', key('chtree', root), '') end
  return id
end

-- A task's event is seen on the parent's thread, where there is one, and on the task's own; once in the tree.
local function addTaskEvent(task, type, fields)
  fields.taskId = task.taskId
  fields.taskThreadId = task.threadId
  local data = cjson.encode(fields)
  local onParent = task.parentThreadId and addEvent(task.parentThreadId, type, data)
  addEvent(task.threadId, type, data, onParent and true)
end
