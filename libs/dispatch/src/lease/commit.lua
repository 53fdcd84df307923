-- Step 6: stores the one result of a run, with everything that follows from it.
-- A: threadId, me, epoch, seq, runId, status, event, result?, error? (JSON text), usage?, timings?, path?, warmForMs?,
--    files? {version, changed [path], more, event (JSON text)}: the new version of the thread's files,
--    filesLost? (absent: as before),
--    task? {taskId, iteration (compared), set {…}, event?, fields?}, mail? [{id, threadId, runId, kind, input, …}]
-- outcome: ok {remaining, narrowed, rung [{threadId, kind, owner?}]} | repeat {remaining, narrowed} | fenced | out_of_order
--          | gone (a fail-over of Redis lost the message itself)
-- D1, D2: `done` rises by one, as the last write. Repair: a repeat recognizes what a torn commit has already
-- done and skips it: mail by its id, the task by its iteration, the run by `final`.
local th = key('th', A.threadId)
local thread = redis.call('HMGET', th, 'owner', 'epoch', 'done', 'last', 'tenant', 'files', 'root', 'alias', 'tail', 'filesBefore',
  'agent', 'skill', 'indexed')
noteHead(A.threadId, thread[7], thread[8], thread[9])
local done = tonumber(thread[3]) or 0
local found = redis.call('HMGET', key('run', A.runId), 'narrowed', 'input', 'kind', 'heldBy', 'trace', 'final')
-- The session was given fewer tools than the run began with: see narrow.lua.
local narrowed = found[1] ~= false
local function refuse(why) redis.call('HINCRBY', P .. 'refused', why, 1) end
if done >= A.seq then
  refuse('repeated')
  return answer('repeat', { narrowed = narrowed, remaining = (tonumber(thread[4]) or 0) - done })
end
if not isHolder(thread[1], thread[2]) then
  refuse('stale')
  return answer('fenced')
end
if A.seq ~= done + 1 then
  refuse('outOfOrder')
  return answer('out_of_order')
end
if not found[2] then return answer('gone') end

-- Before everything that a repeat skips, so that no repair is needed. What a task has changed is kept for the mail that
-- reports its end.
setVersion(A.threadId, A.files)
if thread[10] then redis.call('HDEL', th, 'filesBefore') end
noteLost(A.threadId, A.filesLost)
local rung = {}
local task = A.task and hash(key('task', A.task.taskId))
local open = task and task.status == 'working' and tonumber(task.iteration) == A.task.iteration
-- A task is done only when the tasks below it are: until the last one has reported, its result is not
-- reviewed.
local function isWaiting()
  if openBelow(A.threadId) > 0 then return true end
  for _, entry in ipairs(redis.call('XRANGE', key('mb', A.threadId), '(' .. A.seq .. '-0', '+')) do
    if redis.call('HGET', key('run', entry[2][2]), 'kind') == 'notification' then return true end
  end
  return false
end
if open and A.task.set.phase == 'review' and isWaiting() then
  A.task.set.phase = 'children'
  A.mail = nil
end
-- A task that has ended meanwhile sends no more mail.
if not A.task or open then
  for _, mail in ipairs(A.mail or {}) do
    mail.chain = redis.call('HGET', key('run', A.runId), 'chain')
    mail.trace = spanOf(found[5], A.runId)
    local isFeedback = task and mail.kind == 'feedback'
    -- Kept so that repair-task.lua can send the feedback again if a torn log loses the mail.
    if isFeedback then redis.call('HSET', key('task', task.taskId), 'words', mail.input) end
    local onBus = isFeedback and task.target == 'bus'
    if onBus then delegateToBus(task, mail.iteration, mail.input) end
    mail.threadId = resolve(thread[5], mail.threadId)
    giveRights(mail, task)
    if mail.kind == 'notification' then nameChanges(mail, task) end
    local owner = not onBus and deliverOnce(mail)
    if owner then rung[#rung + 1] = { threadId = mail.threadId, kind = mail.kind, owner = owner ~= '' and owner or nil } end
  end
end
if open then
  for name, value in pairs(A.task.set) do redis.call('HSET', key('task', task.taskId), name, value) end
  redis.call('HSET', key('task', task.taskId), 'updatedAt', stamp)
  redis.call('ZADD', P .. 'working', 'XX', now, task.taskId)
  if A.task.event then addTaskEvent(task, A.task.event, A.task.fields or {}) end
  if A.task.set.status and A.task.set.status ~= 'working' then
    closeTask(task)
    -- The task has ended, so its open child tasks are no longer needed.
    for _, child in ipairs(redis.call('SMEMBERS', key('open', task.threadId))) do cancelTask(child) end
    local fields = { status = A.task.set.status, verdict = A.task.set.verdict, result = A.task.set.result or task.result }
    addTaskEvent(task, 'task.' .. A.task.set.status, fields)
  end
end

local run = key('run', A.runId)
if not found[6] then
  setFields(run, { final = '1', status = A.status, endedAt = stamp, result = A.result, error = A.error, usage = A.usage,
    timings = A.timings, path = A.path, files = A.files and A.files.version or thread[6] or nil })
  addFilesChanged(A.threadId, A.files)
  addEvent(A.threadId, A.event.type, A.event.data)
  redis.call('HINCRBY', P .. 'runs', A.status .. ':' .. (A.path or 'none'), 1)
  if narrowed then notifyToolsChanged(A.threadId) end
end
redis.call('PEXPIRE', run, C.retentionMs)
if not A.warmForMs then redis.call('HDEL', th, 'warmUntil') end
local finished = { tenant = thread[5], runId = A.runId, kind = found[3], heldBy = found[4] or nil }
local known = { last = thread[4], agent = thread[11], skill = thread[12], indexed = thread[13] }
-- Mail and the ends of tasks may have changed what was read.
if A.mail or A.task then
  local again = redis.call('HMGET', th, 'last', 'agent', 'skill', 'indexed')
  known = { last = again[1], agent = again[2], skill = again[3], indexed = again[4] }
end
known.outcome = A.status
known.set = { warmUntil = A.warmForMs and string.format('%.0f', now + A.warmForMs), updatedAt = stamp, outcome = A.status }
return answer('ok', { remaining = finishRun(A.threadId, A.seq, finished, known), rung = rung, narrowed = narrowed })
