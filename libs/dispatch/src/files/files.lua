-- Versions of a thread's files. The files themselves are not in Redis: a version is the digest of a manifest.

-- Joins lists of changed paths: {changed, more}. A path is listed once; what does not fit is only counted.
local function joinChanges(one, other)
  local known, changed, more = {}, {}, (one.more or 0) + (other.more or 0)
  for _, list in ipairs({ one.changed or {}, other.changed or {} }) do
    for _, path in ipairs(list) do
      if not known[path] then
        known[path] = true
        if #changed < C.maxChangedPaths then changed[#changed + 1] = path else more = more + 1 end
      end
    end
  end
  return changed, more
end

-- Makes a version the current one of a thread, and notes on its task, if any, what the task has changed so far.
-- `files`: {version, changed [path], more}; nil = unchanged.
local function setVersion(threadId, files)
  if not files then return end
  local th = key('th', threadId)
  if redis.call('HGET', th, 'files') == files.version then return end
  redis.call('HSET', th, 'files', files.version)
  local taskId = redis.call('HGET', th, 'taskId')
  if not taskId or redis.call('EXISTS', key('task', taskId)) == 0 then return end
  local changed, more = joinChanges(decoded(redis.call('HGET', key('task', taskId), 'changes')) or {}, files)
  local text = string.format('{"version":"%s","changed":%s,"more":%d}', files.version, encodeList(changed), more)
  redis.call('HSET', key('task', taskId), 'changes', text)
end

-- Records whether changes of the latest turn were lost: the next turn reports it to the model. nil = unchanged.
local function noteLost(threadId, isLost)
  if isLost then redis.call('HSET', key('th', threadId), 'filesLost', '1')
  elseif isLost == false then redis.call('HDEL', key('th', threadId), 'filesLost') end
end

local function addFilesChanged(threadId, files)
  if files then addEvent(threadId, 'files.changed', files.event) end
end

-- Adds to the mail that reports a task's end which files the task has changed. Paths are foreign text: one to a line, quoted.
local function nameChanges(mail, task)
  local changes = task and decoded(redis.call('HGET', key('task', task.taskId), 'changes'))
  if not changes then return end
  local lines = { mail.input, 'Files that it changed in its own workspace, version ' .. changes.version .. ':' }
  for _, path in ipairs(changes.changed) do lines[#lines + 1] = '> ' .. string.gsub(path, '%c', '?') end
  if changes.more > 0 then lines[#lines + 1] = string.format('and %d more', changes.more) end
  mail.input = table.concat(lines, '\n')
end
