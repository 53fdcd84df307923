-- Step 3: makes a worker the owner of a thread; the epoch rises with every new owner.
-- A: threadId, me (workerId#incarnation)
-- outcome: mine {epoch, isLastAttempt (of the next turn)} | owned {owner} (another live worker) | dead (the
--    caller's own liveness key has expired) | gone (the thread does not exist)
-- A repeat by the owner changes nothing.
local workerId = string.match(A.me, '^(.-)#')
if redis.call('GET', key('w', workerId)) ~= A.me then return answer('dead') end
local th = key('th', A.threadId)
local thread = redis.call('HMGET', th, 'tenant', 'owner', 'epoch', 'attempt')
if not thread[1] then
  redis.call('ZREM', P .. 'pend', A.threadId)
  return answer('gone')
end
local before, epoch = thread[2], tonumber(thread[3])
if before ~= A.me then
  local alive = liveOwner(A.threadId)
  if alive and alive ~= workerId then return answer('owned', { owner = alive }) end
  epoch = nextEpoch(A.threadId)
  unwant(A.threadId, thread[1])
  redis.call('HSET', th, 'owner', A.me, 'emitted', 0)
  redis.call('HDEL', th, 'nonce', 'run', 'warmUntil', 'warming')
  if before then
    redis.call('SREM', key('own', string.match(before, '^(.-)#')), A.threadId)
    addEvent(A.threadId, 'session.moved', cjson.encode({ workerId = workerId, epoch = epoch }))
  end
end
redis.call('SADD', key('own', workerId), A.threadId)
return answer('mine', { epoch = epoch, isLastAttempt = (tonumber(thread[4]) or 0) + 1 >= C.maxAttempts })
