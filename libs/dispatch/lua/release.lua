-- Step 7: gives a thread up: its session was evicted, or the worker leaves.
-- A: threadId, me, epoch
-- outcome: ok {waiting} | fenced
redis.call('SREM', key('own', string.match(A.me, '^(.-)#')), A.threadId)
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
redis.call('HDEL', th, 'owner', 'nonce', 'run', 'warmUntil', 'warming')
addEvent(A.threadId, 'session.released', cjson.encode({ epoch = A.epoch }))
local waiting = number(th, 'last') - number(th, 'done')
if waiting == 0 then expireThread(A.threadId) end
return answer('ok', { waiting = waiting })
