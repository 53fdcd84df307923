-- Step 4: the next turn of a thread, if there is mail. Each new nonce is one attempt; a repeat is the same attempt.
-- A: threadId, me, epoch, nonce
-- outcome: run | cancelled | interrupted | park {run, thread, task?, setup}, empty {thread?, setup? (its session is wanted)}, fenced
-- Repair: mail already done is dropped; a run whose result was told before its commit broke off is finished, not run again; a
-- gap (accepted, then lost with a torn log) is counted and stepped over.
if not fenced(A.threadId) then return answer('fenced') end
-- What its session is made from, besides the thread itself.
local function setupOf(thread)
  return { agent = profileOf('agents', thread.agent), skill = profileOf('skills', thread.skill), tools = encodeList(toolsOf(thread)) }
end
local th = key('th', A.threadId)
local mb = key('mb', A.threadId)

local function stepOver(from, to)
  redis.call('HINCRBY', th, 'gaps', to - from)
  redis.call('INCRBY', P .. 'gaps', to - from)
  redis.call('HSET', th, 'done', to)
end

local runId, seq
while true do
  local done = number(th, 'done')
  local head = redis.call('XRANGE', mb, '-', '+', 'COUNT', 1)[1]
  if not head then
    local last = number(th, 'last')
    if last > done then stepOver(done, last) end
    redis.call('ZREM', P .. 'pend', A.threadId)
    redis.call('HDEL', th, 'run')
    local thread = redis.call('HGET', th, 'prewarm') and hash(th) or nil
    return answer('empty', { thread = thread, setup = thread and setupOf(thread) })
  end
  seq = tonumber(string.match(head[1], '^%d+'))
  runId = head[2][2]
  if seq <= done then
    redis.call('XDEL', mb, head[1])
  else
    if seq > done + 1 then stepOver(done, seq - 1) end
    local known = redis.call('HMGET', key('run', runId), 'input', 'final')
    if known[2] then
      finishRun(A.threadId, seq)
    elseif known[1] then
      break
    else
      stepOver(seq - 1, seq)
    end
  end
end

local run = key('run', runId)
local fresh = redis.call('HGET', th, 'nonce') ~= A.nonce
if fresh then
  redis.call('HINCRBY', th, 'attempt', 1)
  redis.call('HSET', th, 'nonce', A.nonce, 'run', runId)
  if number(th, 'last') < seq then redis.call('HSET', th, 'last', seq) end
end
local attempt = number(th, 'attempt')
local outcome = 'run'
if redis.call('HGET', run, 'cancel') then
  outcome = 'cancelled'
elseif redis.call('HGET', run, 'kind') == 'message' and overtaken(A.threadId, seq, 'message') then
  outcome = 'interrupted'
elseif attempt > C.maxAttempts then
  outcome = 'park'
elseif fresh then
  redis.call('HSET', run, 'status', 'running', 'attempt', attempt)
  redis.call('HSETNX', run, 'startedAt', stamp)
  holdTools(hash(th), runId)
  addEvent(A.threadId, 'run.started', cjson.encode({ runId = runId, attempt = attempt }))
end
local found = { run = hash(run), thread = hash(th) }
found.setup = setupOf(found.thread)
if found.run.taskId then
  found.task = hash(key('task', found.run.taskId))
elseif found.run.kind == 'notification' then
  found.task = waitingTask(A.threadId)
end
return answer(outcome, found)
