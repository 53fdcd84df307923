-- Stores a ticket. Tickets of the same holder that have expired no longer count.
-- A: digest, holder, ttlMs, text (JSON object)
-- outcome: ok | full (the holder has C.maxTickets)
-- Repair: a list without its ticket, or a ticket without its entry there, expires.
local all = key('tickets', A.holder)
redis.call('ZREMRANGEBYSCORE', all, '-inf', now)
if not redis.call('ZSCORE', all, A.digest) and redis.call('ZCARD', all) >= C.maxTickets then return answer('full') end
redis.call('ZADD', all, now + A.ttlMs, A.digest)
redis.call('PEXPIRE', all, A.ttlMs)
redis.call('SET', key('ticket', A.digest), A.text, 'PX', A.ttlMs)
return answer('ok')
