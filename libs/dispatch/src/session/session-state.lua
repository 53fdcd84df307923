-- Records the state of a thread's session, fenced.
-- A: threadId, me, epoch, sdkSessionId?, transcript? (whole | behind | full), warming?, warmForMs?, event? {type, data}
-- outcome: ok | fenced
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
if A.sdkSessionId and A.sdkSessionId ~= redis.call('HGET', th, 'sdkSessionId') then
  redis.call('HSET', th, 'sdkSessionId', A.sdkSessionId)
  -- The previous SDK session will not be resumed again.
  for _, name in ipairs(redis.call('SMEMBERS', key('sess', A.threadId))) do
    if string.sub(name, 1, #A.sdkSessionId) ~= A.sdkSessionId then
      local list = key('sess', A.threadId .. ':' .. name)
      redis.call('DEL', list, list .. ':uuids')
      redis.call('SREM', key('sess', A.threadId), name)
    end
  end
  redis.call('HDEL', th, 'transcriptBytes')
end
-- A new process starts from what the store has.
if A.sdkSessionId or A.transcript == 'whole' then redis.call('HDEL', th, 'transcript') end
if A.transcript and A.transcript ~= 'whole' then redis.call('HSET', th, 'transcript', A.transcript) end
if A.warming then redis.call('HSET', th, 'warming', A.warming) else redis.call('HDEL', th, 'warming') end
if A.warmForMs then
  redis.call('HSET', th, 'warmUntil', now + A.warmForMs)
  redis.call('HDEL', th, 'prewarm')
end
if A.event then addEvent(A.threadId, A.event.type, A.event.data) end
return answer('ok')
