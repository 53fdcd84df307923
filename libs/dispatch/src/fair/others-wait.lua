-- Whether a tenant other than the thread's waits for a slot.
-- A: threadId
-- outcome: yes | no
local tenant = redis.call('HGET', key('th', A.threadId), 'tenant')
for _, one in ipairs(redis.call('ZRANGE', P .. 'wants', 0, 1)) do
  if one ~= tenant then return answer('yes') end
end
return answer('no')
