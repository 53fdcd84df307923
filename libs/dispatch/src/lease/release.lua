-- Step 7: gives a thread up, because its session was evicted or the worker exits.
-- A: threadId, me, epoch
-- outcome: ok {waiting} | fenced
redis.call('SREM', key('own', string.match(A.me, '^(.-)#')), A.threadId)
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
redis.call('HDEL', th, 'owner', 'nonce', 'run', 'warmUntil', 'warming')
addEvent(A.threadId, 'session.released', cjson.encode({ epoch = A.epoch }))
local thread = redis.call('HMGET', th, 'last', 'done')
local waiting = (tonumber(thread[1]) or 0) - (tonumber(thread[2]) or 0)
return answer('ok', { waiting = waiting })
