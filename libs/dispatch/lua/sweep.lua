-- Step 8: finds what a lost doorbell, a dead worker or a torn log left behind. Run by every worker, every 1-2 s.
-- A: graceMs, busyGraceMs, taskGraceMs, count
-- outcome: ok {ring [{threadId, owner?}], tasks [taskId], dead [workerId]}
local ring, tasks, dead = {}, {}, {}
-- A dead worker's threads with mail need not wait for their grace.
for _, workerId in ipairs(redis.call('SMEMBERS', P .. 'workers')) do
  if redis.call('EXISTS', key('w', workerId)) == 0 then
    dead[#dead + 1] = workerId
    for _, threadId in ipairs(redis.call('SMEMBERS', key('own', workerId))) do
      if redis.call('ZSCORE', P .. 'pend', threadId) then
        ring[#ring + 1] = { threadId = threadId, owner = liveOwner(threadId) }
      end
    end
  end
end
for _, threadId in ipairs(redis.call('ZRANGEBYSCORE', P .. 'pend', '-inf', now - A.graceMs, 'LIMIT', 0, A.count)) do
  redis.call('ZADD', P .. 'pend', 'XX', now, threadId)
  local owner = liveOwner(threadId)
  local th = key('th', threadId)
  -- A live owner is most likely at work on it: ring it now and then only.
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
for _, tenant in ipairs(redis.call('SMEMBERS', P .. 'tenants')) do
  for _, list in ipairs({ 'ths', 'tasks' }) do
    redis.call('ZREMRANGEBYSCORE', key(list, tenant), '-inf', now - C.retentionMs)
  end
end
return answer('ok', { ring = ring, tasks = tasks, dead = dead })
