-- Stores a session of the operator's console. Beyond the limit, its holder's oldest sessions end.
-- A: digest, holder, ttlMs, text (JSON object)
-- outcome: ok
-- Repair: a list without its session, or a session without its entry there, expires.
local all = key('csessions', A.holder)
redis.call('ZREMRANGEBYSCORE', all, '-inf', now)
local excess = redis.call('ZCARD', all) - C.maxConsoleSessions
for _, digest in ipairs(excess >= 0 and redis.call('ZRANGE', all, 0, excess) or {}) do
  redis.call('DEL', key('csession', digest))
  redis.call('ZREM', all, digest)
end
redis.call('ZADD', all, now + A.ttlMs, A.digest)
redis.call('PEXPIRE', all, C.consoleSessionMs)
redis.call('SET', key('csession', A.digest), A.text, 'PX', A.ttlMs)
return answer('ok')
