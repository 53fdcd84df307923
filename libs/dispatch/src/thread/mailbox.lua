-- Delivery, cancellation and completion of mail.

-- What a delivery needs of a thread; `tenant` is false for one that does not exist.
local function mailboxOf(threadId)
  local names = { 'tenant', 'alias', 'last', 'done', 'kept', 'agent', 'skill', 'indexed', 'chain', 'run', 'owner', 'root', 'tail' }
  local thread = {}
  for i, value in ipairs(redis.call('HMGET', key('th', threadId), unpack(names))) do thread[names[i]] = value end
  noteHead(threadId, thread.root, thread.alias, thread.tail)
  return thread
end

-- Appends mail to a thread's mailbox; returns its run, as its hash is. The run's record is written before its mail,
-- so mail never lacks one. `thread`: its mailbox, if it has been read and not changed since.
local function deliver(threadId, mail, thread)
  local th = key('th', threadId)
  thread = thread or mailboxOf(threadId)
  local seq = (tonumber(thread.last) or 0) + 1
  -- A torn earlier delivery may have left its entry without updating `last`: skip its seq; begin.lua counts
  -- the gap.
  local tail = redis.call('XREVRANGE', key('mb', threadId), '+', '-', 'COUNT', 1)[1]
  if tail then seq = math.max(seq, tonumber(string.match(tail[1], '^%d+')) + 1) end
  local run = { runId = mail.runId, threadId = threadId, tenant = thread.tenant, alias = thread.alias or nil, seq = seq,
    kind = mail.kind, status = 'pending', attempt = 0, input = mail.input, createdAt = stamp, chain = mail.chain or mail.runId }
  for _, name in ipairs({ 'model', 'metadata', 'taskId', 'iteration', 'failure', 'keyId', 'scopes', 'tools', 'rightsUntil', 'grantedAt', 'heldBy', 'trace', 'filesIn', 'skill' }) do run[name] = mail[name] end
  run.eventId = addEvent(threadId, 'run.queued', cjson.encode({ runId = mail.runId, seq = seq, kind = mail.kind }))
  setFields(key('run', mail.runId), run)
  local indexes = indexesOf('busy', thread.agent, thread.skill)
  redis.call('HSET', th, 'last', seq, 'updatedAt', stamp, 'indexed', indexes)
  redis.call('XADD', key('mb', threadId), seq .. '-0', 'runId', mail.runId, 'kind', mail.kind)
  redis.call('ZADD', key('runs', threadId), seq, mail.runId)
  if seq > C.runCap then redis.call('ZREMRANGEBYRANK', key('runs', threadId), 0, -C.runCap - 1) end
  redis.call('ZADD', P .. 'pend', 'NX', now, threadId)
  if not thread.kept then keepThread(threadId) end
  redis.call('ZADD', key('ths', thread.tenant), now, threadId)
  moveIndexes(threadId, thread.tenant, { before = thread.indexed, wanted = indexes, at = now })
  return run
end

-- The trace of what a run causes: the same one, below the span of the run. Span ids are those of `spanIdOf`.
local function spanOf(trace, id)
  return trace and string.sub(trace, 1, 36) .. string.sub(redis.sha1hex(id), 1, 16) .. '-01' or nil
end

-- Delivers system mail once per id. Mail to a deleted thread is dropped and counted; a full mailbox does not
-- refuse it.
-- Returns nil if nothing was delivered, else the thread's live owner or ''.
local function deliverOnce(mail)
  if redis.call('EXISTS', key('th', mail.threadId)) == 0 then
    redis.call('INCR', P .. 'dropped')
    return nil
  end
  local sent = key('sent', mail.id)
  if redis.call('EXISTS', sent) == 1 then return nil end
  mail.trace = mail.trace or (mail.taskId and redis.call('HGET', key('task', mail.taskId), 'trace')) or nil
  deliver(mail.threadId, mail)
  redis.call('SET', sent, mail.runId, 'PX', C.idemTtlMs)
  return liveOwner(mail.threadId) or ''
end

-- Flags a run as cancelled. A waiting run reads `cancelled` at once and is committed in its order. For a
-- running one the flag is the source of truth; the control message only makes its worker react at once.
local function cancelRun(threadId, runId)
  local run = key('run', runId)
  redis.call('HSET', run, 'cancel', '1')
  if redis.call('HGET', run, 'status') == 'pending' then
    redis.call('HSET', run, 'status', 'cancelled')
  else
    local owner = liveOwner(threadId)
    if owner then
      redis.call('PUBLISH', key('ctl', owner), cjson.encode({ action = 'cancel', threadId = threadId, runId = runId }))
    end
  end
end

local function cancelMail(threadId)
  for _, entry in ipairs(redis.call('XRANGE', key('mb', threadId), '-', '+')) do cancelRun(threadId, entry[2][2]) end
end

-- Completes the thread's current run; returns how many messages wait. `run`: its hash, or of it tenant, runId, kind and
-- heldBy together with `thread`: last, outcome, agent, skill and indexed as they are now, and in `set` fields that are
-- written with `done`.
local function finishRun(threadId, seq, run, thread)
  local th = key('th', threadId)
  if run.kind == 'message' then dropHeld('waitingMessages', run.tenant, run.runId, run.heldBy) end
  redis.call('DEL', key('led', threadId))
  redis.call('HDEL', th, 'nonce', 'run', 'attempt', 'tried')
  if not thread then
    local found = redis.call('HMGET', th, 'last', 'agent', 'skill', 'indexed')
    thread = { last = found[1], outcome = run.status, agent = found[2], skill = found[3], indexed = found[4], set = { outcome = run.status } }
  end
  local last = tonumber(thread.last) or 0
  local indexes = indexesOf(stateOf(last, seq, thread.outcome), thread.agent, thread.skill)
  local fields = thread.set or {}
  fields.done, fields.indexed = seq, indexes
  setFields(th, fields)
  redis.call('XDEL', key('mb', threadId), seq .. '-0')
  local remaining = last - seq
  if remaining > 0 then
    redis.call('ZADD', P .. 'pend', now, threadId)
  else
    redis.call('ZREM', P .. 'pend', threadId)
  end
  redis.call('ZADD', key('ths', run.tenant), now, threadId)
  moveIndexes(threadId, run.tenant, { before = thread.indexed, wanted = indexes, at = now })
  return remaining
end
