-- Step 1: accepts one message into a thread's mailbox, once per idempotency key.
-- A: tenant, threadId, idemHash, bodyHash, strategy (enqueue | reject | interrupt),
--    mail {runId, kind, input, model?, metadata?, keyId?, scopes?, tools? (JSON lists), trace?, filesIn?}, quota?
-- outcome: accepted | known {run, owner?, rung (its owner was rung)} | conflict | not_found | in_progress
--    {runId} | full {waiting} | quota {limit, of, allowed}
-- Repair: a key without its run (torn before the delivery) counts as unknown.
local thread = mailboxOf(A.threadId)
if thread.tenant ~= A.tenant then
  A.threadId = idOfNamed(A.tenant, A.threadId)
  thread = mailboxOf(A.threadId)
end
local idem = key('idem', A.tenant .. ':' .. A.idemHash)
local known = redis.call('GET', idem)
if known then
  known = cjson.decode(known)
  if known.bodyHash ~= A.bodyHash then return answer('conflict') end
  if known.runId and redis.call('EXISTS', key('run', known.runId)) == 1 then
    local owner = liveOwner(A.threadId)
    return answer('known', { run = hash(key('run', known.runId)), owner = owner, rung = ringOwner(A.threadId, owner) })
  end
end

local th = key('th', A.threadId)
if thread.tenant ~= A.tenant then return answer('not_found') end
local waiting = (tonumber(thread.last) or 0) - (tonumber(thread.done) or 0)
if A.strategy == 'reject' and waiting > 0 then
  local head = redis.call('XRANGE', key('mb', A.threadId), '-', '+', 'COUNT', 1)[1]
  return answer('in_progress', { runId = head and head[2][2] })
end
if waiting >= C.maxMail then return answer('full', { waiting = waiting }) end
local reached = quotaReached('waitingMessages', A.tenant) or quotaReached('runsPerDay', A.tenant)
if reached then return answer('quota', reached) end

redis.call('SET', idem, cjson.encode({ runId = A.mail.runId, bodyHash = A.bodyHash }), 'PX', C.idemTtlMs)
-- A user message to a task's thread counts towards the chain that created the task.
A.mail.chain = thread.chain or nil
A.mail.grantedAt = stamp
A.mail.heldBy = ofKey('waitingMessages')
local run = deliver(A.threadId, A.mail, thread)
hold('waitingMessages', A.tenant, A.mail.runId)
countRun(A.tenant)
local owner = livingId(thread.owner)
if A.strategy == 'interrupt' then
  -- Its own seq is the bound: it can never interrupt itself.
  redis.call('HSET', th, 'interruptBefore', run.seq)
  local current = thread.run
  if current and owner and overtaken(A.threadId, number(key('run', current), 'seq'), redis.call('HGET', key('run', current), 'kind')) then
    local message = { action = 'interrupt', threadId = A.threadId, runId = current }
    redis.call('PUBLISH', key('ctl', owner), cjson.encode(message))
  end
end
return answer('accepted', { run = run, owner = owner, rung = ringOwner(A.threadId, owner) })
