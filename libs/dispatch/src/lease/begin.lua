-- Step 4: begins the next turn of a thread, if there is mail. Each new nonce is one attempt; a call with the
-- same nonce is the same attempt.
-- A: threadId, me, epoch, nonce
-- outcome: run | cancelled | interrupted | park {run, thread, task?, setup, died? {nonce, begunAt, seenAt}: the previous
--    attempt, whose process ended without handing it back} | empty {thread?, setup? (a
--    prewarm is requested)} | fenced
-- Repair: mail that is already done is dropped; a run whose result was stored before its commit was torn is
--    finished, not run again; a gap (mail accepted, then lost with a torn log) is counted and skipped.
local th = key('th', A.threadId)
local thread = hash(th)
if not isHolder(thread.owner, thread.epoch) then return answer('fenced') end
noteHead(A.threadId, thread.root, thread.alias, thread.tail)
-- What the session is created from, besides the thread itself.
local function setupOf(thread)
  return { agent = profileOf('agents', thread.agent, thread.tenant), skill = profileOf('skills', thread.skill, thread.tenant), tools = encodeList(toolsOf(thread)) }
end
local mb = key('mb', A.threadId)
local done, last = tonumber(thread.done) or 0, tonumber(thread.last) or 0

local function stepOver(from, to)
  redis.call('HINCRBY', th, 'gaps', to - from)
  redis.call('INCRBY', P .. 'gaps', to - from)
  redis.call('HSET', th, 'done', to)
  done = to
end

local runId, seq, run
while true do
  local head = redis.call('XRANGE', mb, '-', '+', 'COUNT', 1)[1]
  if not head then
    if last > done then
      stepOver(done, last)
      touchThread(A.threadId, thread.tenant)
    end
    redis.call('ZREM', P .. 'pend', A.threadId)
    redis.call('HDEL', th, 'run')
    thread = thread.prewarm and hash(th) or nil
    return answer('empty', { thread = thread, setup = thread and setupOf(thread) })
  end
  seq = tonumber(string.match(head[1], '^%d+'))
  runId = head[2][2]
  if seq <= done then
    redis.call('XDEL', mb, head[1])
  else
    if seq > done + 1 then stepOver(done, seq - 1) end
    run = hash(key('run', runId))
    if run.final then
      finishRun(A.threadId, seq, run)
      done = seq
      thread.attempt, thread.nonce, thread.tried = nil, nil, nil
    elseif run.input then
      break
    else
      stepOver(seq - 1, seq)
    end
  end
end

local isNew = thread.nonce ~= A.nonce
local died
-- `tried` outlives the change of the owner, unlike `nonce`.
if isNew and thread.tried then
  local latest = redis.call('XREVRANGE', key('ev', A.threadId), '+', '-', 'COUNT', 1)[1]
  died = { nonce = thread.tried, begunAt = thread.begunAt, seenAt = latest and string.match(latest[1], '^%d+') or nil }
end
local attempt = tonumber(thread.attempt) or 0
if isNew then
  attempt = attempt + 1
  thread.attempt, thread.nonce, thread.run, thread.last = attempt, A.nonce, runId, math.max(last, seq)
  thread.begunAt = stamp
  redis.call('HSET', th, 'attempt', attempt, 'nonce', A.nonce, 'tried', A.nonce, 'begunAt', stamp, 'run', runId, 'last', thread.last)
end
local outcome = 'run'
if run.cancel then
  outcome = 'cancelled'
elseif run.kind == 'message' and seq < (tonumber(thread.interruptBefore) or 0) then
  outcome = 'interrupted'
elseif attempt > C.maxAttempts then
  outcome = 'park'
elseif isNew then
  if isRevoked(run.tenant, run.keyId, { untilMs = run.rightsUntil, grantedAt = run.grantedAt }) then run.tools, run.scopes = '[]', '[]' end
  local began, tools = toolsOfRun(thread, run)
  run.status, run.attempt, run.startedAt, run.began, run.tools = 'running', attempt, run.startedAt or stamp, began, tools
  setFields(key('run', runId), { status = 'running', attempt = attempt, startedAt = run.startedAt, began = began, tools = tools, scopes = run.scopes })
  addEvent(A.threadId, 'run.started', cjson.encode({ runId = runId, attempt = attempt }))
end
local found = { run = run, thread = thread, setup = setupOf(thread), died = died }
if run.taskId then
  found.task = hash(key('task', run.taskId))
elseif run.kind == 'notification' then
  found.task = waitingTask(A.threadId)
end
return answer(outcome, found)
