-- Step 8: finds what a lost doorbell, a dead worker or a torn log left behind. Every worker runs it every 1-2
-- s.
-- A: graceMs, busyGraceMs, taskGraceMs, count
-- outcome: ok {ring [{threadId, owner?}], tasks [taskId], dead [workerId]}
local ring, tasks, dead = {}, {}, {}
-- Threads of a dead worker with mail are rung without waiting for their grace time.
for _, workerId in ipairs(redis.call('SMEMBERS', P .. 'workers')) do
  if redis.call('EXISTS', key('w', workerId)) == 0 then
    -- Each sweep takes some of them, so that the workers share the load.
    for _, threadId in ipairs(redis.call('SPOP', key('own', workerId), A.count)) do
      if redis.call('ZSCORE', P .. 'pend', threadId) then
        ring[#ring + 1] = { threadId = threadId, owner = liveOwner(threadId) }
      end
    end
    if redis.call('EXISTS', key('own', workerId)) == 0 then
      redis.call('DEL', key('figbatch', workerId))
      dead[#dead + 1] = workerId
    end
  end
end
for _, threadId in ipairs(redis.call('ZRANGEBYSCORE', P .. 'pend', '-inf', now - A.graceMs, 'LIMIT', 0, A.count)) do
  redis.call('ZADD', P .. 'pend', 'XX', now, threadId)
  local owner = liveOwner(threadId)
  local th = key('th', threadId)
  -- A live owner is probably working on it, so it is rung less often.
  if not owner or now - number(th, 'rungAt') >= A.busyGraceMs then
    if owner then redis.call('HSET', th, 'rungAt', now) end
    ring[#ring + 1] = { threadId = threadId, owner = owner }
  end
end
for _, taskId in ipairs(redis.call('ZRANGEBYSCORE', P .. 'working', '-inf', now - A.taskGraceMs, 'LIMIT', 0, A.count)) do
  redis.call('ZADD', P .. 'working', 'XX', now, taskId)
  local threadId = redis.call('HGET', key('task', taskId), 'threadId')
  if not threadId then
    redis.call('ZREM', P .. 'working', taskId)
  elseif redis.call('XLEN', key('mb', threadId)) == 0 then
    tasks[#tasks + 1] = taskId
  end
end
-- Retention. A tenant is processed when the oldest entry of its lists expires; tenants recorded by earlier
-- releases, at once.
for _, tenant in ipairs(redis.call('SPOP', P .. 'tenants', A.count)) do redis.call('ZADD', P .. 'trim', 'NX', now, tenant) end
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', P .. 'trim', '-inf', now, 'LIMIT', 0, 20)) do
  local due
  for _, threadId in ipairs(redis.call('ZRANGEBYSCORE', key('ths', tenant), '-inf', now - C.retentionMs, 'LIMIT', 0, A.count)) do
    local taskId = redis.call('HGET', key('th', threadId), 'taskId')
    local isOpen = taskId and redis.call('HGET', key('task', taskId), 'status') == 'working'
    if isOpen or redis.call('ZSCORE', P .. 'pend', threadId) or liveOwner(threadId) or redis.call('SCARD', key('open', threadId)) > 0 then
      redis.call('ZADD', key('ths', tenant), now - C.retentionMs + 60000, threadId) -- checked again in a minute
    else
      forgetThread(threadId)
      redis.call('ZREM', key('ths', tenant), threadId)
    end
  end
  local old = redis.call('ZRANGEBYSCORE', key('tasks', tenant), '-inf', now - C.retentionMs, 'LIMIT', 0, 1000)
  if #old > 0 then redis.call('ZREM', key('tasks', tenant), unpack(old)) end
  for _, kind in ipairs({ 'ths', 'tasks' }) do
    local list = key(kind, tenant)
    local oldest = tonumber(redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')[2])
    if oldest and (not due or oldest < due) then due = oldest end
  end
  if due then
    redis.call('ZADD', P .. 'trim', math.max(due + C.retentionMs, now + 1000), tenant)
  else
    redis.call('ZREM', P .. 'trim', tenant)
  end
end
return answer('ok', { ring = ring, tasks = tasks, dead = dead })
