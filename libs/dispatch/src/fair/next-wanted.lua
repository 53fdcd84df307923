-- Chooses the thread for a worker's free slot: the longest-waiting thread of the tenant with the lowest virtual time.
-- A: threadId (whose doorbell the worker received; chosen when no thread is listed, since a list may be lost)
-- outcome: next {threadId} | none (every thread has its owner)
for _ = 1, 100 do
  local first = redis.call('ZRANGE', P .. 'wants', 0, 0, 'WITHSCORES')
  local tenant, turn = first[1], tonumber(first[2])
  if not tenant then break end
  local threadId = redis.call('ZPOPMIN', key('want', tenant))[1]
  redis.call('SET', P .. 'wantclock', string.format('%.0f', turn))
  if redis.call('EXISTS', key('want', tenant)) == 1 then
    redis.call('ZADD', P .. 'wants', string.format('%.0f', turn + 1), tenant)
  else
    redis.call('ZREM', P .. 'wants', tenant)
  end
  if threadId and redis.call('HEXISTS', key('th', threadId), 'tenant') == 1 and not liveOwner(threadId) then
    return answer('next', { threadId = threadId })
  end
end
if liveOwner(A.threadId) then return answer('none') end
return answer('next', { threadId = A.threadId })
